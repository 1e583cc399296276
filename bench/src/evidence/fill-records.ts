import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { EVIDENCE_FILE } from '../../../server/src/evidence/store/open-evidence-store.ts'
import { openSqliteEvidence } from '../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import type { EvidenceRow } from '../../../server/src/evidence/store/evidence-record.ts'

const DAY_MS = 24 * 60 * 60_000
/** Fifty copies take 29 days. */
const EVERY_MS = Math.round((29 * DAY_MS) / 50)
export const PROGRAMS = ['/usr/bin/node', '/usr/bin/git', '/usr/bin/curl', '/usr/bin/pip'] as const

/** The owner of records, and their end. */
export interface RecordOwner {
  readonly org: string
  readonly nowMs: number
  readonly nameUser: (user: number) => string
}

/** Different requests of all users together. */
export interface RecordExtent {
  readonly tuples: number
  readonly users: number
}

const BATCHES_AT_ONCE = 50

/** Stores each tuple of the extent once, within the last half of a day. */
export async function fillRecords(
  folder: string,
  { tuples, users }: RecordExtent,
  { org, nowMs, nameUser }: RecordOwner,
): Promise<void> {
  const store = openSqliteEvidence(join(folder, EVIDENCE_FILE))
  const each = tuples / users
  const append = (user: number): Promise<unknown> =>
    store.append({
      org,
      device_id: `device-${user}`,
      username: nameUser(user),
      rows: Array.from({ length: each }, (_, index) => rowOf(user, index, { each, nowMs })),
      losses: [],
      chain: { ...CHAIN, received_ms: nowMs },
      follows: null,
    })
  // Those that arrive together share a commit.
  for (let user = 0; user < users; user += BATCHES_AT_ONCE)
    await Promise.all(Array.from({ length: BATCHES_AT_ONCE }, (_, index) => append(user + index)))
  await store.close()
}

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

const RULE = { policy_id: 'pol_0', decision: 'allow', origin: 'org' } as const

/** The id of a rule that some requests match. */
export function ruleOf(index: number): string {
  return `rule_${String(index % 50).padStart(28, '0')}`
}

/** Every third request is a file, every ninth was denied; programs and revisions differ. */
function rowOf(
  user: number,
  index: number,
  { each, nowMs }: { readonly each: number; readonly nowMs: number },
): EvidenceRow {
  const last_ms = nowMs - 1 - Math.floor(((index + user / 1_000_000) / each) * (DAY_MS / 2))
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
      rules: index % 9 === 8 ? [] : [{ ...RULE, rule_id: ruleOf(index) }],
      // Makes all tuples different.
      revision: user,
      stale: false,
      break_glass: false,
      program: PROGRAMS[index % PROGRAMS.length] ?? null,
      os_user: null,
    },
  }
}

/** Repeats the records of `fillRecords` at earlier times, up to `records` in all. */
export function growRecords(
  folder: string,
  tuples: number,
  { records, nowMs }: { readonly records: number; readonly nowMs: number },
): void {
  const database = new DatabaseSync(join(folder, EVIDENCE_FILE))
  database.exec(`PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000;
    BEGIN`)
  const insert = database.prepare(
    `INSERT INTO records SELECT (last_ms - ?1) / ${DAY_MS}, org, last_ms - ?1, id + ?2, source,
       tuple, first_ms - ?1, decisions, flows, bytes_sent, bytes_received, received_ms
     FROM records WHERE day = ${nowMs / DAY_MS - 1} AND id <= ${tuples}`,
  )
  for (let copy = 1; copy < records / tuples; copy += 1)
    insert.run(BigInt(copy * EVERY_MS), BigInt(copy * tuples))
  database.exec(`DELETE FROM days;
    INSERT INTO days SELECT org, day, COUNT(*) FROM records GROUP BY org, day; COMMIT`)
  database.close()
}

/** The start of this day, at which records may end. */
export function startOfDay(): number {
  return Math.floor(Date.now() / DAY_MS) * DAY_MS
}
