// SPDX-License-Identifier: Apache-2.0
// The store's tables, version by version. A step is never changed once it was released: a new one follows it.
#pragma once
#include <array>

namespace longship::hub {

inline constexpr std::array<const char*, 2> schema_steps = {
    // 1: jobs, attempts, sites, tokens
    R"(
CREATE TABLE spec (id INTEGER PRIMARY KEY, digest TEXT NOT NULL, json TEXT NOT NULL);
CREATE TABLE kind (id INTEGER PRIMARY KEY, spec INTEGER NOT NULL, owner TEXT NOT NULL, team TEXT NOT NULL,
                   site TEXT NOT NULL, code TEXT NOT NULL, code_size INTEGER NOT NULL);
CREATE TABLE submission (first INTEGER PRIMARY KEY,  -- the index of its first job
                         number INTEGER NOT NULL, count INTEGER NOT NULL, kind INTEGER NOT NULL,
                         at INTEGER NOT NULL, key BLOB NOT NULL);
CREATE TABLE job (id INTEGER PRIMARY KEY,  -- only those to which something has happened
                  state INTEGER NOT NULL, reason TEXT NOT NULL, crashes INTEGER NOT NULL, losses INTEGER NOT NULL,
                  committed INTEGER NOT NULL, resume_at INTEGER NOT NULL, ended INTEGER NOT NULL,
                  not_before INTEGER NOT NULL);
CREATE TABLE attempt (job INTEGER NOT NULL, number INTEGER NOT NULL, site INTEGER NOT NULL, queue TEXT NOT NULL,
                      image INTEGER NOT NULL, state INTEGER NOT NULL, result INTEGER NOT NULL, flags INTEGER NOT NULL,
                      pilot TEXT NOT NULL, batch_job TEXT NOT NULL, reason TEXT NOT NULL, nodes TEXT NOT NULL,
                      ranks INTEGER NOT NULL, exit_code INTEGER NOT NULL, site_version INTEGER NOT NULL,
                      created INTEGER NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL,
                      more TEXT NOT NULL,  -- outputs and last metrics, as JSON
                      PRIMARY KEY (job, number)) WITHOUT ROWID;
CREATE TABLE image (id INTEGER PRIMARY KEY, record TEXT NOT NULL);  -- as it was when it was given to a site
CREATE TABLE site (id INTEGER PRIMARY KEY, name TEXT NOT NULL, ssh TEXT NOT NULL, longship TEXT NOT NULL,
                   site_file TEXT NOT NULL, port INTEGER NOT NULL, text TEXT NOT NULL, version TEXT NOT NULL,
                   outbox TEXT NOT NULL, seen INTEGER NOT NULL, removed INTEGER NOT NULL, added INTEGER NOT NULL);
CREATE TABLE token (hash TEXT PRIMARY KEY, user TEXT NOT NULL, team TEXT NOT NULL, site TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE note (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, job INTEGER NOT NULL, attempt INTEGER NOT NULL,
                   site INTEGER NOT NULL, what TEXT NOT NULL);
CREATE INDEX note_of_job ON note (job);
CREATE INDEX note_of_site ON note (site);
)",
    // 2: when tokens were made and used; 0: not known, never
    R"(
ALTER TABLE token ADD COLUMN added INTEGER NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
)"};

}  // namespace longship::hub
