import {
  UPLOAD_TYPE,
  parseJson,
  recordReceiptSchema,
  type EvidenceSettings,
} from '@palisade/protocol'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { ActivePolicy } from '../../policy/decision/active-policy.ts'
import type { KeptRecords } from '../keep-records.ts'
import type { ChainedLine } from '../record-chain.ts'
import { fault } from '../../sync/fault.ts'
import type { Fetched, FetchFile } from '../../sync/transport/fetch-file.ts'
import { countLines, findStart, readBatch, type WrittenEnd } from './batch-reader.ts'
import { isUploaded, redactRecord } from './redact-record.ts'
import {
  createUploader,
  UPLOAD_PACE,
  type Answer,
  type UploadPace,
  type Uploader,
  type Urgency,
} from './uploader.ts'

const PATH = '/api/v1/device/records'
const MAX_RECEIPT_BYTES = 1024
/** For a megabyte on a slow line. */
const TIMEOUT_MS = 60_000
const HEADERS = { 'content-type': UPLOAD_TYPE, 'content-encoding': 'gzip' } as const

const compress = promisify(gzip)

/** Uploads the records of this machine, as far as the signed settings in force say so. */
export function uploadRecords(deps: {
  readonly active: Pick<ActivePolicy, 'current' | 'subscribe'>
  readonly kept: KeptRecords
  readonly enrolment: { readonly device_id: string }
  readonly fetchFile: FetchFile
  /** If not the usual one. */
  readonly pace?: UploadPace
  /** The trusted time, in epoch milliseconds. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  /** 0 to 1, exclusive. */
  readonly random: () => number
  readonly onError: (error: unknown) => void
}): Uploader {
  const { active, fetchFile, pace = UPLOAD_PACE } = deps
  const { boot, owner, recorder } = deps.kept
  const disk = { ...deps.kept.disk, owner }
  const deviceId = deps.enrolment.device_id
  let written: WrittenEnd = { boot, seq: 0 }

  const readSettings = (): EvidenceSettings | null => {
    const settings = active.current()?.bundle.settings.evidence
    return settings === undefined || settings.upload === 'off' ? null : settings
  }

  const uploader = createUploader({
    ...deps,
    pace,
    settings: readSettings,
    disk: {
      findStart: (position) => findStart(disk, position),
      countLines: (start) => countLines(disk, start),
      readBatch: (from, settings, limits) =>
        readBatch(disk, from, { settings, deviceId, written, ...limits }),
    },
    ask: async (signal) =>
      readReceipt(await fetchFile({ path: PATH, maxBytes: MAX_RECEIPT_BYTES }, signal)),
    async send(text, signal) {
      const body = await compress(text)
      const sent = { body, headers: HEADERS, timeoutMs: TIMEOUT_MS }
      return readReceipt(
        await fetchFile({ path: PATH, maxBytes: MAX_RECEIPT_BYTES, ...sent }, signal),
      )
    },
  })
  active.subscribe(() => uploader.notice())
  recorder.subscribe((lines) => {
    written = { boot, seq: lines.at(-1)?.record.seq ?? written.seq }
    const settings = readSettings()
    if (settings !== null) uploader.add(lines.length, urgencyOf(lines, settings, deviceId))
  })
  return uploader
}

function readReceipt(fetched: Fetched): Answer {
  if (fetched.kind === 'fault' || fetched.kind === 'absent') return fetched
  if (fetched.kind === 'not_modified') return fault('malformed', 'the server answered 304')
  const json = parseJson(fetched.body.toString())
  const receipt = json.ok ? recordReceiptSchema.safeParse(json.value).data : undefined
  if (receipt !== undefined) return { kind: 'position', position: receipt.position }
  return fault('malformed', 'the server answers without a position of the decision records')
}

function urgencyOf(
  lines: readonly ChainedLine[],
  settings: EvidenceSettings,
  deviceId: string,
): Urgency {
  let urgency: Urgency = 'kept'
  for (const { record } of lines) {
    if ('lost' in record) urgency = 'record'
    else if (record.decision.decision === 'deny') return 'denial'
    else if (isUploaded(redactRecord(record, settings), settings, deviceId)) urgency = 'record'
  }
  return urgency
}
