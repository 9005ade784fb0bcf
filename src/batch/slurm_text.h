// SPDX-License-Identifier: Apache-2.0
// What we say to Slurm and what it says to us, as text: no command is run here.
// tests/fuzz/slurm_text_fuzz.cpp feeds the readers.
#pragma once
#include "batch.h"

namespace longship::batch {

// --- to sbatch ---

// The script on its standard input: set-up lines, then the pilot in the place of the shell.
[[nodiscard]] std::string script_of(const Pilot& pilot);
// sbatch and its options; those of the queue come last and so have the last word.
[[nodiscard]] std::vector<std::string> sbatch_words(const Pilot& pilot);
// Any text as one word of bash, without line breaks.
[[nodiscard]] std::string shell_word(std::string_view text);

// --- from Slurm ---

// The job's number: "42", or "42;cluster".
[[nodiscard]] std::string parse_sbatch(std::string_view text);

// The name comes last, because only it could have a bar in it.
inline constexpr std::string_view squeue_format = "%i|%T|%S|%r|%j";
[[nodiscard]] Reports parse_squeue(std::string_view text, std::span<const std::string> names);

inline constexpr std::string_view sacct_format = "JobID,State,ExitCode,JobName";
// Only what ended: accounting may show jobs as running for ever that Slurm itself has lost.
[[nodiscard]] Reports parse_sacct(std::string_view text, std::span<const std::string> names);

// "RUNNING", "CANCELLED by 1000"; a word that is not known, of a later Slurm, is unknown.
[[nodiscard]] State state_of(std::string_view word);
// Seconds since 1970, as SLURM_TIME_FORMAT=%s has it, or "2026-11-16T04:05:06" of this machine's time zone.
// Anything else, also a date without its year, is 0: not known.
[[nodiscard]] std::int64_t parse_time(std::string_view text);

}  // namespace longship::batch
