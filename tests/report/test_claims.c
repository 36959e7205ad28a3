/* Claims: kept, written, read back, shown. */
#include "report/folder.h"
#include "support/check.h"

#include "report/claims.h"
#include "report/text.h"
#include "support/claims.h"

#include <math.h>

static hvi_claims sample(void) {
  hvi_claims c = {.experiment = "pennies",
                  .title = "Hidden <matching> pennies",
                  .mode = "quick",
                  .settings_hash = "0123456789abcdef",
                  .paper = "It converges.",
                  .made = {.version = "0.1.0", .commit = "abc123", .machine = "two cores"},
                  .seconds = 1.5};
  hvi_claim *a = hvi_claims_add(&c, "linear", "Section 5.1", "PHGD converges linearly.");
  hvi_claim_measure(a, "slope", -0.125);
  hvi_claim_measure(a, "nothing", NAN);
  hvi_claim_measure(a, "far", INFINITY);
  hvi_claim_decide(a, HVI_HOLDS);
  a->number = (hvi_claim_number){"far", INFINITY, 1.0, NAN};
  snprintf(a->seeds, sizeof a->seeds, "20 seeds, 1 to 20");
  snprintf(a->tuning, sizeof a->tuning, "five seeds");
  hvi_claim *b = hvi_claims_add(&c, "marginal", "Section 5.1", "Inner steps & F: \"cheap\".");
  hvi_claim_decide(b, HVI_HOLDS_NOT);
  hvi_claim_note(b, "ratio %d", 46);
  hvi_claims_add(&c, "open", "nowhere", "Not judged.");
  hvi_claims_figure(&c, "pennies", "The paper.", NULL);
  return c;
}

static void reading_gives_back_what_was_written(void **state) {
  hvi_claims c = sample(), back;
  hvi_error err;
  const char *path = in(*state, "claims.json");
  assert_int_equal(hvi_claims_write(&c, path, &err), HVI_OK);
  if (hvi_claims_read(&back, path, &err) != HVI_OK) fail_msg("%s", err.text);
  assert_string_equal(back.experiment, c.experiment);
  assert_string_equal(back.title, c.title);
  assert_string_equal(back.mode, c.mode);
  assert_string_equal(back.settings_hash, c.settings_hash);
  assert_true(back.seconds == c.seconds);
  assert_int_equal(back.count, c.count);
  assert_int_equal(back.figure_count, 1);
  assert_string_equal(back.figures[0].name, "pennies");
  for (size_t i = 0; i < c.count; i++) {
    const hvi_claim *x = c.items[i], *y = back.items[i];
    assert_string_equal(x->id, y->id);
    assert_string_equal(x->where, y->where);
    assert_string_equal(x->text, y->text);
    assert_string_equal(x->note, y->note);
    assert_int_equal(x->judgement, y->judgement);
    assert_int_equal(x->theorem, y->theorem);
    assert_int_equal(x->measure_count, y->measure_count);
    assert_string_equal(x->seeds, y->seeds);
    assert_string_equal(x->tuning, y->tuning);
    assert_string_equal(x->number.name, y->number.name);
  }
  assert_true(back.items[0]->number.value == INFINITY && back.items[0]->number.low == 1.0);
  assert_memory_equal(&back.made, &c.made, sizeof c.made);
  assert_string_equal(back.paper, c.paper);
  assert_string_equal(back.figures[0].paper, "The paper.");
  const hvi_measure *m = find_claim(&back, "linear")->measures;
  assert_true(m[0].value == -0.125);
  assert_true(isnan(m[1].value));
  assert_true(m[2].value == INFINITY);
  hvi_claims_clear(&c);
  hvi_claims_clear(&back);
}

#define FILE_OF(version, figures, claims)                                                          \
  "{\"schema_version\": " version                                                                  \
  ", \"experiment\": \"a\", \"title\": \"b\", \"mode\": \"quick\", "                               \
  "\"settings_hash\": \"c\", \"figures\": " figures ", \"claims\": " claims "}"
#define CLAIM(measured, holds)                                                                     \
  "[{\"id\": \"i\", \"where\": \"w\", \"claim\": \"c\", \"note\": \"n\", \"measured\": " measured  \
  ", \"holds\": " holds "}]"

static void files_of_another_shape_are_refused(void **state) {
  static const char *const texts[] = {"",
                                      "{",
                                      "[]",
                                      "{\"schema_version\": 1}",
                                      FILE_OF("2", "[]", "[]"),
                                      FILE_OF("\"1\"", "[]", "[]"),
                                      FILE_OF("1", "[1]", "[]"),
                                      FILE_OF("1", "[{}]", "[]"),
                                      FILE_OF("1", "{}", "[]"),
                                      FILE_OF("1", "[]", "{}"),
                                      FILE_OF("1", "[]", "[{}]"),
                                      FILE_OF("1", "[]", "[1]"),
                                      FILE_OF("1", "[]", CLAIM("[]", "true"))};
  const char *path = in(*state, "bad.json");
  hvi_claims c;
  hvi_error err;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    write_file(path, texts[i]);
    assert_int_equal(hvi_claims_read(&c, path, &err), HVI_ERROR_INPUT);
    assert_int_equal(c.count, 0);
  }
  /* with names of figures alone, as earlier versions wrote them */
  write_file(path,
             FILE_OF("1", "[\"f\"]", CLAIM("{\"x\": 1, \"y\": \"-inf\", \"z\": true}", "null")));
  check_ok(hvi_claims_read(&c, path, &err), &err);
  assert_true(c.count == 1 && c.figure_count == 1 && !c.checked);
  assert_string_equal(c.figures[0].name, "f");
  const hvi_measure *m = c.items[0]->measures;
  assert_true(m[0].value == 1.0 && m[1].value == -INFINITY && isnan(m[2].value));
  hvi_claims_clear(&c);
}

static void tally_counts_judgements(void **state) {
  (void)state;
  hvi_claims c = sample();
  assert_int_equal(hvi_claims_tally(&c, 1, false, HVI_HOLDS), 1);
  assert_int_equal(hvi_claims_tally(&c, 1, false, HVI_HOLDS_NOT), 1);
  assert_int_equal(hvi_claims_tally(&c, 1, false, HVI_NOT_JUDGED), 1);
  assert_null(find_claim(&c, "other"));
  hvi_claims_clear(&c);
}

static void measures_beyond_the_limit_are_dropped(void **state) {
  (void)state;
  hvi_claims c = {0};
  hvi_claim *a = hvi_claims_add(&c, "many", "", "");
  for (int i = 0; i < HVI_CLAIM_MEASURES + 5; i++) hvi_claim_measure(a, "x", i);
  assert_int_equal(a->measure_count, HVI_CLAIM_MEASURES);
  hvi_claim_measure(NULL, "x", 1);
  hvi_claim_decide(NULL, HVI_HOLDS);
  hvi_claim_note(NULL, "x");
  hvi_claims_clear(&c);
}

/* Two lists, with theorems in the second: one verified, one violated, one of which nothing is known.
 */
static void theorems_are_counted_apart(void **state) {
  hvi_claims list[2] = {sample(), {.experiment = "theory", .mode = "quick"}}, back;
  static const hvi_judgement judgements[] = {HVI_HOLDS, HVI_HOLDS_NOT, HVI_NOT_JUDGED};
  hvi_error err;
  for (size_t i = 0; i < 3; i++) {
    hvi_claim *c = hvi_claims_add(&list[1], "a", "Theorem 1", "An inequality.");
    hvi_claim_decide(c, judgements[i]);
    c->theorem = true;
    assert_int_equal(hvi_claims_tally(list, 2, true, judgements[i]), 1);
  }
  assert_int_equal(hvi_claims_tally(list, 2, false, HVI_HOLDS), 1);
  static const char summary[] = "1 theorem verified, 1 violated, 1 not judged; 3 claims: 1 hold, "
                                "1 do not hold, 1 not judged";
  char *table = hvi_claims_table(list, 2, 0, false);
  assert_non_null(strstr(table, "  1 theorem verified\n")); /* counted; the others are listed */
  assert_null(strstr(table, "  verified "));
  assert_non_null(strstr(table, "  violated       An inequality.\n"));
  hvi_free(table);
  table = hvi_claims_table(list, 2, 0, true);
  assert_non_null(strstr(table, summary));
  assert_non_null(strstr(table, "  verified       An inequality."));
  assert_non_null(strstr(table, "  violated       An inequality."));
  assert_int_equal(hvi_claims_page(list, 2, *state, &err), HVI_OK);
  char *page = slurp(in(*state, "index.html"));
  assert_non_null(strstr(page, summary));
  assert_non_null(strstr(page, "<td class=\"v yes\" data-of=\"quick\">verified</td>"));
  assert_non_null(strstr(page, "Theorems: 1 verified of 3"));
  const char *path = in(*state, "theory.json");
  assert_int_equal(hvi_claims_write(&list[1], path, &err), HVI_OK);
  char *json = slurp(path);
  assert_non_null(strstr(json, "\"theorem\": true"));
  assert_int_equal(hvi_claims_read(&back, path, &err), HVI_OK);
  for (size_t i = 0; i < 3; i++) assert_true(back.items[i]->theorem);
  hvi_free(json);
  hvi_free(page);
  hvi_free(table);
  hvi_claims_clear(&back);
  for (size_t i = 0; i < 2; i++) hvi_claims_clear(&list[i]);
}

static void no_line_of_the_table_is_too_wide(void **state) {
  (void)state;
  hvi_claims c = sample();
  hvi_claim *a =
      hvi_claims_add(&c, "long", "",
                     "A claim of many words that has to be wrapped over several lines — with a "
                     "dash that takes one column and three bytes.");
  for (int i = 0; i < 9; i++) hvi_claim_measure(a, "a measure with a name", 1.0 / 3);
  char *table = hvi_claims_table(&c, 1, 72, true);
  assert_non_null(strstr(table, "pennies: Hidden <matching> pennies (quick, 1.5 s)\n"));
  assert_non_null(strstr(table, "  holds          PHGD converges linearly."));
  assert_non_null(strstr(table, "  does not hold  "));
  assert_non_null(strstr(table, "ratio 46\n")); /* the note of what does not hold */
  assert_non_null(strstr(table, "4 claims: 1 hold, 1 do not hold, 2 not judged\n"));
  for (char *line = strtok(table, "\n"); line; line = strtok(NULL, "\n")) {
    assert_true(hvi_text_width(line) <= 72);
    assert_true(line[strlen(line) - 1] != ' ');
  }
  hvi_free(table);
  hvi_claims_clear(&c);
}

/* A line each: cut where it must be, never wider than asked for, numbers at its end. */
static void the_short_table_has_a_line_for_each_claim(void **state) {
  (void)state;
  hvi_claims c = sample();
  hvi_claim *a = hvi_claims_add(&c, "long", "",
                                "A claim of many words — with a dash that takes one column and "
                                "three bytes, and more of them than fit on a line. (ant)");
  a->number = (hvi_claim_number){"ratio", 0.5, 0.25, 1.0};
  char *table = hvi_claims_table(&c, 1, 80, false);
  assert_non_null(strstr(table, "  holds          PHGD converges linearly."));
  size_t lines = 0;
  for (char *line = strtok(table, "\n"); line; line = strtok(NULL, "\n"), lines++) {
    assert_true(hvi_text_width(line) <= 80);
    if (!strstr(line, "A claim of")) continue;
    assert_non_null(strstr(line, "... (ant)  ")); /* the level stays */
    assert_non_null(strstr(line, "  0.5 [0.25, 1]"));
    assert_int_equal(hvi_text_width(line), 80);
  }
  assert_int_equal(lines, 1 + 4 + 1);
  hvi_free(table);
  hvi_claims_clear(&c);
}

static void the_page_escapes_and_stands_alone(void **state) {
  hvi_claims c = sample();
  hvi_error err;
  assert_int_equal(hvi_folder_make(in(*state, "pennies"), &err), HVI_OK);
  write_file(in(*state, "pennies/pennies.gp"), "# script");
  assert_int_equal(hvi_claims_page(&c, 1, *state, &err), HVI_OK);
  char *page = slurp(in(*state, "index.html"));
  assert_non_null(strstr(page, "Hidden &lt;matching&gt; pennies"));
  assert_non_null(strstr(page, "Inner steps &amp; F: &quot;cheap&quot;."));
  assert_null(strstr(page, "src=\"http"));
  assert_null(strstr(page, "href=\"http"));
  assert_null(strstr(page, "<script src"));
  assert_null(strstr(page, "<img")); /* the picture was never drawn */
  assert_non_null(strstr(page, "pennies/pennies.gp"));
  hvi_free(page);
  hvi_claims_clear(&c);
}

/* Everything in claims.json, and in the numbers of a figure, may have been edited by anybody. */
static void nothing_in_the_claims_is_a_tag(void **state) {
  static const char evil[] = "\"'><script>alert(1)</script>";
  hvi_claims c = sample(), full = sample();
  hvi_error err;
  snprintf(c.experiment, sizeof c.experiment, "%s", evil);
  snprintf(c.title, sizeof c.title, "%s", evil);
  snprintf(c.mode, sizeof c.mode, "%s", "\"><script>");
  snprintf(c.outdated, sizeof c.outdated, "%s", evil);
  snprintf(c.paper, sizeof c.paper, "%s", evil);
  snprintf(c.shows, sizeof c.shows, "%s", evil);
  snprintf(c.made.version, sizeof c.made.version, "%s", evil);
  snprintf(c.made.commit, sizeof c.made.commit, "%s", evil);
  snprintf(c.made.command, sizeof c.made.command, "%s", evil);
  snprintf(c.made.date, sizeof c.made.date, "%s", evil);
  snprintf(c.made.machine, sizeof c.made.machine, "%s", evil);
  hvi_claims_figure(&c, evil, evil, evil);
  c.full = &full;
  hvi_claims *both[] = {&c, &full};
  for (size_t i = 0; i < 2; i++) {
    hvi_claim *a = hvi_claims_add(both[i], evil, evil, evil);
    hvi_claim_measure(a, evil, 1.0);
    hvi_claim_note(a, "%s", evil);
    a->number.value = 1.0;
    snprintf(a->number.name, sizeof a->number.name, "%s", evil);
    snprintf(a->seeds, sizeof a->seeds, "%s", evil);
    snprintf(a->tuning, sizeof a->tuning, "%s", evil);
  }
  assert_int_equal(hvi_claims_page(&c, 1, *state, &err), HVI_OK);
  char *page = slurp(in(*state, "index.html"));
  assert_null(strstr(page, "<script>alert"));
  assert_null(strstr(page, "\"'>"));
  assert_non_null(strstr(page, "href=\"./&quot;&#39;&gt;&lt;script"));
  assert_non_null(strstr(page, "Out of date: &quot;&#39;&gt;&lt;script"));
  hvi_free(page);
  c.full = NULL;
  hvi_claims_clear(&c);
  hvi_claims_clear(&full);
}

/* Numbers stand in the page as JSON that ends no element; what is no JSON is left out. */
static void numbers_of_figures_are_data_alone(void **state) {
  hvi_claims c = sample();
  hvi_error err;
  assert_int_equal(hvi_folder_make(in(*state, "pennies"), &err), HVI_OK);
  static const char *const texts[] = {
      "{\"title\": \"</script><script>alert(1)</script>\", \"panels\": [1.25, null]}",
      "</script><script>alert(1)</script>"};
  static const char *const shown[] = {
      "<script type=\"application/json\">{\"title\":\"\\u003c/script>\\u003cscript>alert(1)"
      "\\u003c/script>\",\"panels\":[1.25,null]}</script>",
      "<figure>\n\n\n<figcaption>pennies\n"};
  for (size_t i = 0; i < 2; i++) {
    write_file(in(*state, "pennies/pennies.json"), texts[i]);
    assert_int_equal(hvi_claims_page(&c, 1, *state, &err), HVI_OK);
    char *page = slurp(in(*state, "index.html"));
    assert_non_null(strstr(page, shown[i]));
    assert_null(strstr(page, "<script>alert"));
    hvi_free(page);
  }
  remove(in(*state, "pennies/pennies.json"));
  hvi_claims_clear(&c);
}

/* What the quick size cannot decide stands beside what the full one says, with its number. */
static void the_full_size_stands_beside_the_quick_one(void **state) {
  hvi_claims c = sample(), full = sample();
  hvi_error err;
  c.items[0]->judgement = HVI_NEEDS_FULL;
  c.full = &full;
  snprintf(full.mode, sizeof full.mode, "full");
  snprintf(c.outdated, sizeof c.outdated, "another test set");
  full.items[0]->number = (hvi_claim_number){"ratio", 0.25, 0.125, 0.5};
  char *table = hvi_claims_table(&c, 1, 0, false);
  assert_non_null(strstr(table, "  needs --full   PHGD converges linearly."));
  assert_non_null(strstr(table, "  full: holds (old) 0.25 [0.125, 0.5]\n"));
  assert_non_null(strstr(table, "0 hold, 1 do not hold, 1 need --full, 1 not judged\n"));
  assert_int_equal(hvi_claims_page(&c, 1, *state, &err), HVI_OK);
  char *page = slurp(in(*state, "index.html"));
  assert_non_null(strstr(page, "<td class=\"v full\" data-of=\"quick\">needs --full</td>"));
  assert_non_null(strstr(page, "data-of=\"full size, out of date\">holds<span class=\"of\">0.25 "
                               "[0.125, 0.5]<br>ratio</span>"));
  assert_non_null(strstr(page, "<p class=\"outdated\">Out of date: another test set</p>"));
  assert_non_null(strstr(page, "<dt>commit</dt><dd>abc123</dd>"));
  assert_non_null(strstr(page, "<td>20 seeds, 1 to 20</td><td>five seeds</td>"));
  assert_non_null(strstr(page, "<blockquote>It converges.</blockquote>"));
  hvi_free(page);
  hvi_free(table);
  c.full = NULL;
  hvi_claims_clear(&c);
  hvi_claims_clear(&full);
}

/* With a bit changed it is refused, or known to be without a checksum. */
static void a_changed_bit_is_noticed(void **state) {
  hvi_claims c = sample();
  hvi_error err;
  const char *path = in(*state, "whole.json"), *changed = in(*state, "changed.json");
  unsigned char *bytes;
  size_t size;
  assert_int_equal(hvi_claims_write(&c, path, &err), HVI_OK);
  hvi_claims_clear(&c);
  assert_int_equal(hvi_claims_read(&c, path, &err), HVI_OK);
  assert_true(c.checked);
  hvi_claims_clear(&c);
  assert_int_equal(hvi_file_read_bytes(&bytes, &size, path, 1 << 20, &err), HVI_OK);
  for (size_t at = 0; at < 8 * size; at += 7) {
    bytes[at / 8] ^= (unsigned char)(1u << (at % 8));
    FILE *file = fopen(changed, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    bytes[at / 8] ^= (unsigned char)(1u << (at % 8));
    if (hvi_claims_read(&c, changed, &err) != HVI_OK) continue;
    if (c.checked) fail_msg("bit %zu of byte %zu is not noticed", at % 8, at / 8);
    hvi_claims_clear(&c);
  }
  hvi_free(bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reading_gives_back_what_was_written),
      cmocka_unit_test(files_of_another_shape_are_refused),
      cmocka_unit_test(tally_counts_judgements),
      cmocka_unit_test(measures_beyond_the_limit_are_dropped),
      cmocka_unit_test(theorems_are_counted_apart),
      cmocka_unit_test(no_line_of_the_table_is_too_wide),
      cmocka_unit_test(the_short_table_has_a_line_for_each_claim),
      cmocka_unit_test(the_page_escapes_and_stands_alone),
      cmocka_unit_test(nothing_in_the_claims_is_a_tag),
      cmocka_unit_test(numbers_of_figures_are_data_alone),
      cmocka_unit_test(the_full_size_stands_beside_the_quick_one),
      cmocka_unit_test(a_changed_bit_is_noticed),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
