import type {
  DeviceChain,
  EvidenceRow,
  EvidenceTuple,
} from '../../../../server/src/evidence/store/evidence-record.ts'
import type {
  EvidenceBatch,
  EvidenceFilter,
  EvidenceStore,
  StoredEvidence,
} from '../../../../server/src/evidence/store/evidence-store.ts'

/** The clock of the server in these tests, and the day of it. */
export const NOW_MS = Date.parse('2026-11-26T12:00:00Z')
export const TODAY = Math.floor(NOW_MS / 86_400_000)
export const DAY_MS = 86_400_000

export const EVERYTHING: EvidenceFilter = {
  fromMs: 0,
  toMs: Date.parse('2201-01-01T00:00:00Z'),
  username: null,
  device_id: null,
  session: null,
  decision: null,
  actions: null,
  program: null,
  rule_id: null,
  mode: null,
  resource: null,
  text: null,
}

export function tuple(changes: Partial<EvidenceTuple> = {}): EvidenceTuple {
  return {
    point: 'proxy',
    protocol: 'connect',
    action: 'connect:tcp',
    host: 'registry.example',
    port: 443,
    address: null,
    path: null,
    path_cut: false,
    decision: 'allow',
    reason: 'rule',
    rules: [],
    revision: 7,
    stale: false,
    break_glass: false,
    program: null,
    os_user: null,
    ...changes,
  }
}

export function row(
  changes: Partial<Omit<EvidenceRow, 'tuple'>> & { readonly tuple?: Partial<EvidenceTuple> } = {},
): EvidenceRow {
  const { tuple: members, ...others } = changes
  const last = others.last_ms ?? NOW_MS
  return {
    session: 'boot-1',
    first_ms: last,
    last_ms: last,
    decisions: 1,
    flows: 0,
    bytes_sent: 0,
    bytes_received: 0,
    ...others,
    tuple: tuple(members),
  }
}

export function chain(seq: number, changes: Partial<DeviceChain> = {}): DeviceChain {
  return {
    position: { boot: 'boot-1', seq, hash: seq.toString(16).padStart(64, '0') },
    earlier: [],
    gaps: 0,
    forks: 0,
    rewinds: 0,
    marked_ms: null,
    lost: 0,
    left_out: 0,
    received_ms: NOW_MS + seq,
    ...changes,
  }
}

/** The first batch of device `dev_1` of `acme` unless `changes` say otherwise. */
export function batch(changes: Partial<EvidenceBatch> = {}): EvidenceBatch {
  return {
    org: 'acme',
    device_id: 'dev_1',
    username: 'alice',
    rows: [],
    losses: [],
    chain: chain(1),
    follows: null,
    ...changes,
  }
}

/** Appends rows behind those that the device has. */
export async function appendRows(
  store: EvidenceStore,
  rows: readonly EvidenceRow[],
  changes: Partial<EvidenceBatch> = {},
): Promise<void> {
  const device_id = changes.device_id ?? 'dev_1'
  const known = await store.chain(device_id)
  const seq = (known?.position.seq ?? 0) + Math.max(rows.length, 1)
  await store.append(
    batch({ rows, chain: chain(seq), follows: known?.received_ms ?? null, ...changes }),
  )
}

/** All pages of a list. */
export async function listAll(
  store: EvidenceStore,
  filter: Partial<EvidenceFilter> = {},
  { org = 'acme', limit = 100 } = {},
): Promise<StoredEvidence[]> {
  const rows: StoredEvidence[] = []
  let before: { readonly last_ms: number; readonly id: number } | null = null
  do {
    const slice = await store.list(org, { ...EVERYTHING, ...filter }, { before, limit })
    if (slice.rows.length > limit) throw new Error('a page has more rows than asked for')
    rows.push(...slice.rows)
    before = slice.next
  } while (before !== null)
  return rows
}
