/*
 * What nearly every file needs: errors, memory, and the everyday part of the standard library. Files
 * of code include this first of all; headers include just what they use.
 */
#pragma once

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
