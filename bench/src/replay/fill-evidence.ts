import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { EVIDENCE_FILE } from '../../../server/src/evidence/store/open-evidence-store.ts'
import { openSqliteEvidence } from '../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import type { EvidenceRow } from '../../../server/src/evidence/store/evidence-record.ts'
import type { ReplayExtent } from './extent.ts'

/** The end of the evidence. */
export const NOW_MS = Date.parse('2026-11-26T00:00:00Z')
const DAY_MS = 24 * 60 * 60_000
/** Fifty copies take 29 days. */
const EVERY_MS = Math.round((29 * DAY_MS) / 50)
const PROGRAMS = ['/usr/bin/node', '/usr/bin/git', '/usr/bin/curl', '/usr/bin/python3']

/** Stores each tuple of the extent once. */
export async function fillEvidence(folder: string, extent: ReplayExtent): Promise<void> {
  const path = join(folder, EVIDENCE_FILE)
  const store = openSqliteEvidence(path)
  const each = extent.tuples / extent.users
  const append = (user: number): Promise<unknown> =>
    store.append({
      org: 'acme',
      device_id: `device-${user}`,
      username: `user-${user}`,
      rows: Array.from({ length: each }, (_, index) => rowOf(user, index, each)),
      losses: [],
      chain: { ...CHAIN, received_ms: NOW_MS },
      follows: null,
    })
  // Those that arrive together share a commit.
  for (let user = 0; user < extent.users; user += BATCHES_AT_ONCE)
    await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, (_, index) => append(user + index)))
  await store.close()
}

const BATCHES_AT_ONCE = 50

const CHAIN = {
  position: { boot: 'b', seq: 1, hash: '0'.repeat(64) },
  earlier: [],
  gaps: 0,
  forks: 0,
  rewinds: 0,
  marked_ms: null,
  lost: 0,
  left_out: 0,
} as const

/** Every third request is a file, every ninth was denied; programs and revisions differ. */
function rowOf(user: number, index: number, each: number): EvidenceRow {
  const last_ms = NOW_MS - 1 - Math.floor(((index + user / 1_000_000) / each) * (DAY_MS / 2))
  const isFile = index % 3 === 2
  const number = (user * 7 + index) % 5_000
  return {
    session: `session-${user}`,
    first_ms: last_ms - 500,
    last_ms,
    decisions: 1 + (index % 4),
    flows: 0,
    bytes_sent: 100,
    bytes_received: 1_000,
    tuple: {
      point: 'proxy',
      protocol: 'connect',
      action: isFile ? 'read' : 'connect:tcp',
      host: isFile ? null : `host-${number}.zone-${number % 100}.example`,
      port: isFile ? null : 443,
      address: isFile || index % 2 === 0 ? null : `198.51.${number % 100}.${index % 250}`,
      path: isFile ? `/srv/zone-${number % 100}/${number}/${index}` : null,
      path_cut: false,
      decision: index % 9 === 8 ? 'deny' : 'allow',
      reason: index % 9 === 8 ? 'default_deny' : 'rule',
      rules: [],
      // Makes all tuples different.
      revision: user,
      stale: false,
      break_glass: false,
      program: PROGRAMS[index % PROGRAMS.length] ?? null,
      os_user: null,
    },
  }
}

/**
 * Repeats the first records at other times, up to a number of records. The indices by source and
 * tuple, which a replay does not read, are left out.
 */
export function growEvidence(
  folder: string,
  tuples: number,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  const database = new DatabaseSync(join(folder, EVIDENCE_FILE))
  database.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000;
    DROP INDEX IF EXISTS records_source; DROP INDEX IF EXISTS records_tuple; BEGIN`)
  const insert = database.prepare(
    `INSERT INTO records SELECT (last_ms - ?1) / ${DAY_MS}, org, last_ms - ?1, id + ?2, source,
       tuple, first_ms - ?1, decisions, flows, bytes_sent, bytes_received, received_ms
     FROM records WHERE day = ${NOW_MS / DAY_MS - 1} AND id <= ${tuples}`,
  )
  for (let copy = from / tuples; copy < to / tuples; copy += 1)
    insert.run(BigInt(copy * EVERY_MS), BigInt(copy * tuples))
  database.exec(`DELETE FROM days;
    INSERT INTO days SELECT org, day, COUNT(*) FROM records GROUP BY org, day; COMMIT`)
  database.close()
}
