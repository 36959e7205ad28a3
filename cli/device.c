#include "device.h"

#include "base/base.h"
#include "talk.h"

#define AT(member) .offset = offsetof(hvi_device_options, member)
HVI_TABLE(static const hvi_setting_table table, "device", hvi_device_options,
    {"device", HVI_SETTING_CHOICE, AT(asked), .choices = "cpu|gpu|auto",
     .help = "where networks learn: cpu, as the shipped results did; gpu; or auto, a GPU that is there and of use"},
    {"device_precision", HVI_SETTING_CHOICE, AT(precision), .choices = "fp16x3|fp32|fp16",
     .help = "products on a GPU: fp16x3, with the errors of fp32; fp32; or fp16, about 1e-3 in gradients"},
    {.name = NULL});

void hvi_args_device(hvi_args *args, hvi_device_options *o, const char *left_out) {
  hvi_args_settings(args, &table, o, left_out);
}

int hvi_device_open(hvi_gang **gang, const hvi_device_options *o, const char *useless) {
  const bool may = o->asked == HVI_ON_EITHER;
  *gang = NULL;
  if (o->asked == HVI_ON_CPU) return HVI_EXIT_DONE;
  const char *why = may ? useless : NULL;
  if (!why && hvi_gang_open(gang, o->precision, &hvi_fault)) why = hvi_fault.text;
  if (why && !may) return hvi_complain_fault();
  if (why)
    hvi_say("hvi: --device auto is the CPU: %s\n", why);
  else
    hvi_say("hvi: networks learn on %s\n", hvi_gang_about(*gang)->name);
  return HVI_EXIT_DONE;
}

bool hvi_device_dismiss(hvi_gang **gang, const hvi_device_options *o) {
  hvi_error why = {HVI_OK, ""};
  const bool small = *gang && hvi_gang_failure(*gang, &why) == HVI_ERROR_MEMORY;
  if (!small || o->asked != HVI_ON_EITHER) return false;
  hvi_say("hvi: --device auto is the CPU: %s\n", why.text);
  hvi_gang_close(*gang);
  *gang = NULL;
  return true;
}

hvi_status hvi_device_lost(hvi_gang *const *gang, hvi_status status) {
  hvi_error why = {HVI_OK, ""};
  if (!status || !*gang || !hvi_gang_failure(*gang, &why)) return status;
  return hvi_error_io(&hvi_fault,
                      "%.300s; what was kept is good: --resume goes on from it, on the CPU with "
                      "--device cpu --accept-other-bits",
                      why.text);
}
