import { MAX_UPLOAD_BYTES, recordReceiptSchema, UPLOAD_TYPE } from '@palisade/protocol'
import type { FastifyRequest } from 'fastify'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { proofSchema, type Proofs } from '../../identity/device/require-proof.ts'
import { createRateLimiter } from '../../identity/limits/rate-limiter.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import type { Log } from '../../operations/log/create-log.ts'
import { createAnswerTurns } from '../../work/answer-turns.ts'
import { ApiError } from '../../platform/api-error.ts'
import type { EvidenceStore } from '../store/evidence-store.ts'
import type { Sender } from './ingest-service.ts'
import type { IngestThread } from './ingest-thread.ts'
import { noteMarks, warnOfLimits } from './note-marks.ts'

const PATH = '/api/v1/device/records'
const tags = ['devices']

/**
 * Batches that are stored at once, whose commits are one, and that wait with their bodies of a
 * megabyte at most.
 */
const TURNS = { each: 64, running: 8, waiting: 128, runningEach: 4 } as const
/**
 * Limits the batches of one device. A full batch holds 5,000 lines, and an agent records 10,000 in
 * a minute.
 */
const BATCHES_PER_MINUTE = 20
const MINUTE_MS = 60_000

export interface RecordRouteDeps {
  readonly evidence: Pick<EvidenceStore, 'chain'>
  readonly ingest: IngestThread['ingest']
  readonly now: () => Date
  readonly views: {
    /** Throws ApiError 401 or 403. */
    identify(authorization: string | undefined): Promise<Pick<Sender, 'deviceId' | 'org'>>
  }
  readonly proofs: Pick<Proofs, 'requireTokenProof'>
  readonly store: Pick<AuditedStore, 'note' | 'read'>
  readonly log: Log
  readonly monotonicMs: () => number
}

/** `GET` and `POST /api/v1/device/records` */
export function recordRoutes(deps: RecordRouteDeps): readonly Route[] {
  const turns = createAnswerTurns(TURNS.each, TURNS.running, TURNS.waiting, TURNS.runningEach)
  const { store, log, monotonicMs } = deps
  const noteMark = noteMarks(store, log, monotonicMs)
  const warnOfLimit = warnOfLimits(log, monotonicMs)
  const batches = createRateLimiter({ most: BATCHES_PER_MINUTE, windowMs: MINUTE_MS }, monotonicMs)
  const prove = async (request: FastifyRequest): Promise<string> => {
    await deps.proofs.requireTokenProof(request)
    return (await deps.views.identify(request.headers.authorization)).deviceId
  }

  return [
    defineRoute(
      {
        method: 'GET',
        path: PATH,
        operationId: 'getRecordPosition',
        tags,
        summary: 'Show up to where the decision records of this device are stored',
        callers: 'machines',
        credential: 'device_token',
        prove: async (request) => void (await prove(request)),
        headers: proofSchema,
        config: { quiet: true, yields: 'begins' },
        answers: { 200: recordReceiptSchema },
      },
      async ({ headers }) => {
        const { deviceId } = await deps.views.identify(headers.authorization)
        return { position: (await deps.evidence.chain(deviceId))?.position ?? null }
      },
    ),
    defineRoute(
      {
        method: 'POST',
        path: PATH,
        operationId: 'uploadRecords',
        tags,
        summary: 'Upload decision records of this device: lines of JSON, packed by gzip or not',
        callers: 'machines',
        credential: 'device_token',
        async prove(request) {
          const deviceId = await prove(request)
          const seconds = batches.waitSeconds(deviceId)
          if (seconds > 0) throw tooMany(seconds)
          batches.add(deviceId)
        },
        headers: proofSchema,
        bodyLimit: MAX_UPLOAD_BYTES,
        // The body is not JSON; `ingestBatch` reads it.
        deferred: true,
        bodyType: UPLOAD_TYPE,
        config: { quiet: true, yields: 'begins' },
        answers: { 200: recordReceiptSchema },
        errors: [409, 413, 415],
      },
      async ({ headers, body }) => {
        const device = await deps.views.identify(headers.authorization)
        const ingest = async () => {
          const sender = await senderOf(deps, device)
          const ingested = await deps.ingest(body, sender, deps.now().getTime())
          const { position, mark, exceeded } = ingested
          if (mark !== null) noteMark(sender, mark)
          if (exceeded !== null) warnOfLimit(sender, exceeded)
          return { position }
        }
        return turns.run(device.org, ingest, device.deviceId)
      },
    ),
  ]
}

/**
 * The user is that of the device: a machine may name any in its records. The settings are read
 * after the wait for a turn, because a change of them holds for all that is stored later.
 */
function senderOf(
  { store }: Pick<RecordRouteDeps, 'store'>,
  { deviceId, org }: Pick<Sender, 'deviceId' | 'org'>,
): Promise<Sender> {
  return store.read(async ({ devices, organizations }) => {
    const device = await devices.findById(deviceId)
    const settings = await organizations.evidence(org)
    return { deviceId, org, username: device?.username ?? null, settings }
  })
}

function tooMany(seconds: number): ApiError {
  return new ApiError(429, 'limit_exceeded', 'too many batches of one device; send larger ones', {
    headers: { 'retry-after': String(seconds) },
  })
}
