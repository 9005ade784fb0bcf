/* SPDX-License-Identifier: Apache-2.0 */
/* Hyper-parameter search in a process of one's own: the C functions behind longship.study.
 *
 * A study is opened, given a sampler, asked for trials and told their values. All functions may be called
 * from any thread, and for one study wait for each other. They return 0 or a number, or a negative code as in
 * longship.h; longship_study_error() then says why. Texts that are returned belong to the calling thread,
 * until its next call. */
#ifndef LONGSHIP_STUDY_H
#define LONGSHIP_STUDY_H
#include "longship.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct longship_study longship_study;

LONGSHIP_API const char* longship_study_error(void);

/* In memory if directory is NULL, otherwise in a journal there, which is made or continued. maximise has one
 * number for each objective: 0 or 1. NULL: failed. */
LONGSHIP_API longship_study* longship_study_open(const char* directory, const char* name,
                                                 const uint8_t* maximise, size_t objectives);
/* What is in the directory. NULL: failed, or there is none. */
LONGSHIP_API longship_study* longship_study_load(const char* directory);
LONGSHIP_API void longship_study_close(longship_study* study);

/* Options as "name=number,…"; src/study/samplers.cpp and pruner.cpp have the names. An empty pruner is none.
 */
LONGSHIP_API int longship_study_sampler(longship_study* study, const char* name, uint64_t seed,
                                        const char* options);
LONGSHIP_API int longship_study_pruner(longship_study* study, const char* name, const char* options);

/* The number of a parameter; kind 0 real, 1 integer, 2 category; step 0 is none. */
LONGSHIP_API int64_t longship_study_parameter(longship_study* study, const char* name, int kind, double low,
                                              double high, double step, int logarithmic,
                                              const char* const* choices, size_t count);
/* What every trial has: known in advance, it need not be learnt from the first trials. */
LONGSHIP_API int longship_study_declare(longship_study* study, const uint32_t* parameters, size_t count);

/* The number of the new trial. */
LONGSHIP_API int64_t longship_study_ask(longship_study* study);
LONGSHIP_API int longship_study_suggest(longship_study* study, uint64_t trial, uint32_t parameter,
                                        double* value);
/* Several at once. */
LONGSHIP_API int longship_study_suggest_all(longship_study* study, uint64_t trial, const uint32_t* parameters,
                                            size_t count, double* values);
LONGSHIP_API int longship_study_report(longship_study* study, uint64_t trial, int64_t step, double value);
LONGSHIP_API int longship_study_should_prune(longship_study* study, uint64_t trial); /* 1 or 0 */
LONGSHIP_API int longship_study_constrain(longship_study* study, uint64_t trial, const double* values,
                                          size_t count);
/* A remark in JSON; about the study itself if trial is negative. */
LONGSHIP_API int longship_study_note(longship_study* study, int64_t trial, int system, const char* key,
                                     const char* json);
/* State: 1 complete, 2 pruned, 3 failed. */
LONGSHIP_API int longship_study_tell(longship_study* study, uint64_t trial, int state, const double* values,
                                     size_t count);
/* A trial with wishes for some parameters, each a value in JSON, for a later ask: its number. */
LONGSHIP_API int64_t longship_study_enqueue(longship_study* study, const char* const* names,
                                            const char* const* values, size_t count);
/* A trial carried out elsewhere: its number. It has ended if state says so; if not it is running, and can be
 * noted and told. Times are in seconds since 1970. */
LONGSHIP_API int64_t longship_study_add(longship_study* study, const uint32_t* parameters,
                                        const double* points, size_t count, const int64_t* steps,
                                        const double* reports, size_t reported, double begun);
LONGSHIP_API int longship_study_tell_at(longship_study* study, uint64_t trial, int state,
                                        const double* values, size_t count, double ended);

/* Reads what other processes have done. */
LONGSHIP_API int longship_study_refresh(longship_study* study);
/* How many changes there are; those from a number on as a JSON list of trials, each once. NULL: failed. */
LONGSHIP_API int64_t longship_study_changes(longship_study* study);
LONGSHIP_API const char* longship_study_changed(longship_study* study, uint64_t from);
LONGSHIP_API const char* longship_study_trial(longship_study* study, uint64_t trial);
/* Parameters from a number on, as a JSON list. */
LONGSHIP_API const char* longship_study_parameters(longship_study* study, uint64_t from);
/* {"maximise": [0], "user": {…}, "system": {…}} */
LONGSHIP_API const char* longship_study_about(longship_study* study);
/* The numbers of the best trials as a JSON list: one, or the Pareto front. */
LONGSHIP_API const char* longship_study_best(longship_study* study);
/* How much of an objective's variation each parameter explains: [["lr", 0.75], …], largest first; they sum
 * to 1. Empty if nothing can be said. */
LONGSHIP_API const char* longship_study_importance(longship_study* study, size_t objective);

#ifdef __cplusplus
}
#endif
#endif
