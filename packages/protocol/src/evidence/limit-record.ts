import type { EvidenceSettings } from './evidence-settings.ts'
import type { UploadedRecord, UploadedRequest } from './upload.ts'

/** Longest path of a record on the wire, in characters. */
const MAX_PATH = 4096

/**
 * The record without the members that the settings keep on the machine. A machine limits what it
 * sends, and the server limits again: a machine may be older than the settings, or hostile.
 */
export function limitRecord(
  { program, os_user, ...record }: UploadedRecord,
  { path_depth, programs, users }: EvidenceSettings,
): UploadedRecord {
  return {
    ...record,
    request: limitRequest(record.request, path_depth),
    ...(programs && program !== undefined ? { program } : {}),
    ...(users && os_user !== undefined ? { os_user } : {}),
  }
}

function limitRequest(request: UploadedRequest | null, depth: number): UploadedRequest | null {
  if (request === null || 'host' in request) return request
  const { action, path_cut } = request
  return { action, ...cutPath(request.path, depth), ...(path_cut === true ? { path_cut } : {}) }
}

/** With no segment, the root counts as cut too: the answer must be the same for every path. */
function cutPath(path: string, depth: number): { readonly path: string; readonly path_cut?: true } {
  const segments = path.split('/').filter((segment) => segment !== '')
  let kept = Math.min(depth, segments.length)
  const join = (): string => `/${segments.slice(0, kept).join('/')}`
  while (join().length > MAX_PATH) kept -= 1
  return depth > 0 && kept === segments.length ? { path: join() } : { path: join(), path_cut: true }
}

/**
 * Whether the settings let a limited record leave the machine. `hash` is SHA-256.
 */
export function isUploaded(
  record: UploadedRecord,
  { upload, sample_percent }: EvidenceSettings,
  { deviceId, hash }: { readonly deviceId: string; readonly hash: (text: string) => Uint8Array },
): boolean {
  if (upload === 'off') return false
  if (upload === 'full' || isDenial(record)) return true
  return upload === 'sampled' && sampleOf(hash(sampledText(record, deviceId))) < sample_percent
}

/** Denied, or denied as soon as the organization enforces its default or its shadow policies. */
function isDenial({ decision, reason, shadow }: UploadedRecord): boolean {
  return decision === 'deny' || reason === 'observed' || shadow?.decision === 'deny'
}

/**
 * Equal for records that the server cannot tell apart but by time, number and revision, so that the
 * counts of a request are whole or missing. Each machine draws other requests: a fleet must not
 * miss the same ones everywhere. Only uploaded members count, because the choice would tell about
 * the others.
 */
function sampledText(record: UploadedRecord, deviceId: string): string {
  const { point, protocol, decision, reason, shadow, request, program, os_user } = record
  return JSON.stringify([
    deviceId,
    point,
    protocol,
    decision,
    reason,
    shadow,
    request,
    program,
    os_user,
  ])
}

/** 0 to 99, by the first four bytes. */
function sampleOf(hash: Uint8Array): number {
  const number = hash.subarray(0, 4).reduce((sum, byte) => sum * 256 + byte, 0)
  return Math.floor((number / 2 ** 32) * 100)
}
