/* The one place where MuJoCo's C++ exceptions end; rl/mujoco/mujoco.h declares it for C. */
#include <hvi/error.h>

#include <cstddef>
#include <cstdio>
#include <cxxabi.h>
#include <exception>
#include <new>

extern "C" hvi_status hvi_mujoco_catch(void (*call)(void *context), void *context, char *text,
                                       std::size_t size) {
  // A thread's place for exceptions is taken by the loader at the first one, and without memory
  // that ends the program: it is taken while there is some.
  void *volatile place = abi::__cxa_get_globals();
  (void)place;
  try {
    call(context);
    return HVI_OK;
  } catch (const std::bad_alloc &) {
    std::snprintf(text, size, "out of memory");
    return HVI_ERROR_MEMORY;
  } catch (const std::exception &e) {
    std::snprintf(text, size, "%s", e.what());
  } catch (...) {
    std::snprintf(text, size, "an exception without a text");
  }
  return HVI_ERROR_INPUT;
}
