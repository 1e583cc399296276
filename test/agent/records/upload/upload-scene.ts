import { createDeviceKey } from '@palisade/client'
import { DEFAULT_EVIDENCE_SETTINGS, type EvidenceSettings } from '@palisade/protocol'
import { onTestFinished } from 'vitest'
import { uploadRecords } from '../../../../agent/src/records/upload/upload-records.ts'
import {
  UPLOAD_PACE,
  type UploadPace,
  type Uploader,
} from '../../../../agent/src/records/upload/uploader.ts'
import { fetchAsDevice } from '../../../../agent/src/sync/transport/fetch-file.ts'
import { createHttpFetch } from '../../../../agent/src/sync/transport/fetch-over-http.ts'
import { activePolicy } from '../../fixture/active-policy.ts'
import { bundleClaims, NOW_MS } from '../../fixture/bundle.ts'
import { startRecorder, type RecordScene } from '../record-scene.ts'
import type { RecordServer } from './record-server.ts'

export const FULL: EvidenceSettings = { ...DEFAULT_EVIDENCE_SETTINGS, upload: 'full' }

/** Of a machine that does not wait long. */
const FAST: UploadPace = {
  ...UPLOAD_PACE,
  startMs: 1,
  collectMs: 20,
  denialMs: 20,
  keptMs: 20,
  restMs: 20,
}

export interface UploadScene extends RecordScene {
  readonly uploader: Uploader
  /** Puts settings into force; null for those of a server without uploads. */
  set(settings: EvidenceSettings | null): void
  readonly errors: unknown[]
}

/** A machine whose records are uploaded to the server. */
export async function startUpload(
  server: RecordServer,
  options: Parameters<typeof startRecorder>[0] & {
    readonly settings?: EvidenceSettings | null
    readonly pace?: Partial<UploadPace>
    /** End of the ids of starts whose records may be sent; any by default. */
    readonly owner?: string
    readonly random?: () => number
  } = {},
): Promise<UploadScene> {
  const { boot = 'boot-1', settings = FULL, random = () => 0, owner = '' } = options
  const scene = await startRecorder({ ...options, boot })
  const { active, use } = activePolicy()
  const errors: unknown[] = []
  const now = (): number => NOW_MS
  const fetchFile = fetchAsDevice({
    enrolment: { server: server.url },
    key: createDeviceKey(),
    fetch: createHttpFetch(),
    now,
    clock: now,
    random,
  })
  const uploader = uploadRecords({
    active,
    kept: { recorder: scene.recorder, disk: scene.disk, boot, owner },
    enrolment: { device_id: 'dev_1' },
    fetchFile,
    pace: { ...FAST, ...options.pace },
    now,
    uptime: () => performance.now(),
    random,
    onError: (error) => errors.push(error),
  })
  onTestFinished(() => uploader.stop())
  const set = (evidence: EvidenceSettings | null): void =>
    use(
      bundleClaims({
        settings: {
          resolve_unlisted_names: false,
          offline_allow: [],
          ...(evidence === null ? {} : { evidence }),
        },
      }),
    )
  set(settings)
  return { ...scene, uploader, set, errors }
}
