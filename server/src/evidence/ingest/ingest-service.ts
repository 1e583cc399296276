import type { EvidenceSettings, RecordPosition } from '@palisade/protocol'
import { conflict } from '../../platform/api-error.ts'
import type { RawBody } from '../../http/body/raw-body.ts'
import { NO_LIMITS, type EvidenceLimits, type ExceededLimit } from '../store/evidence-limits.ts'
import type { ChainMark } from '../store/evidence-record.ts'
import type { EvidenceStore } from '../store/evidence-store.ts'
import { extendChain, checkChain } from './check-chain.ts'
import { limitLines } from './limit-lines.ts'
import { readBatch } from './read-batch.ts'
import { sumBatch } from './batch-rows.ts'

/** The machine that sends, by the server's own records. */
export interface Sender {
  readonly org: string
  readonly deviceId: string
  readonly username: string | null
  /** The present settings of the organization. */
  readonly settings: EvidenceSettings
}

/** The result of a batch, after its commit. */
export interface Ingested {
  /** Up to there all lines are durable. */
  readonly position: RecordPosition
  /** Where the chain of the device did not hold, and the lines that are missing there. */
  readonly mark: { readonly kind: ChainMark; readonly missing: number } | null
  /** The limit beyond which the decisions of the batch were counted as lost. */
  readonly exceeded: ExceededLimit | null
}

export interface IngestDeps {
  readonly evidence: Pick<EvidenceStore, 'append' | 'chain'>
  readonly limits?: EvidenceLimits
}

/**
 * Reads a batch that arrived at `receivedMs` (epoch) and writes the part that the settings want. Of
 * the rest only the position in the chain is kept, so that a stricter setting makes no gap. Throws
 * the errors of `readBatch`, ApiError 409 when the machine must ask for its position first, and
 * `StoreError`.
 */
export async function ingestBatch(
  body: RawBody,
  sender: Sender,
  receivedMs: number,
  { evidence, limits = NO_LIMITS }: IngestDeps,
): Promise<Ingested> {
  const batch = await readBatch(body)
  const { header } = batch
  const chain = await evidence.chain(sender.deviceId)
  const outcome = checkChain(chain, batch)
  if (outcome.kind === 'known' && chain !== null)
    return { position: chain.position, mark: null, exceeded: null }
  if (outcome.kind !== 'continues')
    throw conflict('the batch overlaps the known records; ask for their position first')
  const { mark, missing } = outcome
  const lines = limitLines(outcome.lines, sender)
  const { rows, losses, ...counts } = sumBatch(lines, { boot: header.boot, receivedMs })
  const next = extendChain(chain, header, outcome, { ...counts, receivedMs })
  const batchRows = {
    org: sender.org,
    device_id: sender.deviceId,
    username: sender.username,
    rows,
    losses:
      missing === 0 || sender.settings.upload === 'off'
        ? losses
        : [{ at_ms: receivedMs, lost: missing, reason: 'gap' }, ...losses],
    chain: next,
    follows: chain?.received_ms ?? null,
  }
  const exceeded = await evidence.append(batchRows, limits)
  return { position: next.position, mark: mark === null ? null : { kind: mark, missing }, exceeded }
}
