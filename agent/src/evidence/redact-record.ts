import type {
  DecisionRecord,
  EvidenceSettings,
  UploadedRecord,
  UploadedRequest,
  UploadedRule,
} from '@palisade/protocol'
import { createHash } from 'node:crypto'

/** Longest path of a record on the wire, in characters. */
const MAX_PATH = 4096
const MAX_USER = 256
const SANDBOX = /^[\w-]{1,64}$/

/** The record without the members that the settings keep on this machine. */
export function redactRecord(record: DecisionRecord, settings: EvidenceSettings): UploadedRecord {
  const { time, until, point, protocol, sandbox, decision, count, program, flow } = record
  return {
    time,
    ...(until === undefined ? {} : { until }),
    point,
    protocol,
    ...(sandbox === undefined || !SANDBOX.test(sandbox) ? {} : { sandbox }),
    decision: decision.decision,
    reason: decision.reason,
    // The pattern of a rule and the hint name resources, so they stay here too.
    rules: decision.rules.map(redactRule),
    ...redactShadow(decision.shadow),
    request: redactRequest(decision.request, settings),
    revision: decision.revision,
    ...(decision.stale ? { stale: true as const } : {}),
    ...(decision.break_glass === true ? { break_glass: true as const } : {}),
    count,
    ...redactProgram(program, settings),
    ...(flow === undefined
      ? {}
      : { flow: { bytes_sent: flow.bytes_sent, bytes_received: flow.bytes_received } }),
  }
}

function redactRule(rule: DecisionRecord['decision']['rules'][number]): UploadedRule {
  const { policy_id, rule_id, decision, origin } = rule
  return { policy_id, rule_id, decision, origin }
}

function redactShadow(
  shadow: DecisionRecord['decision']['shadow'],
): Pick<UploadedRecord, 'shadow'> {
  if (shadow === undefined) return {}
  const { decision, reason, rules } = shadow
  return { shadow: { decision, reason, rules: rules.map(redactRule) } }
}

function redactProgram(
  program: DecisionRecord['program'],
  { programs, users }: EvidenceSettings,
): Pick<UploadedRecord, 'program' | 'os_user'> {
  const { executable, user } = program ?? {}
  return {
    ...(programs && executable !== undefined ? { program: executable } : {}),
    ...(users && user?.name !== undefined ? { os_user: user.name.slice(0, MAX_USER) } : {}),
  }
}

function redactRequest(
  request: DecisionRecord['decision']['request'],
  { path_depth }: EvidenceSettings,
): UploadedRequest | null {
  if (request === null) return null
  if ('path' in request) return { action: request.action, ...cutPath(request.path, path_depth) }
  const { action, host, port, address } = request
  return { action, host, port, ...(address === undefined ? {} : { address }) }
}

/** With no segment, the root counts as cut too: the answer must be the same for every path. */
function cutPath(path: string, depth: number): { readonly path: string; readonly path_cut?: true } {
  const segments = path.split('/').filter((segment) => segment !== '')
  let kept = Math.min(depth, segments.length)
  const join = (): string => `/${segments.slice(0, kept).join('/')}`
  while (join().length > MAX_PATH) kept -= 1
  return depth > 0 && kept === segments.length ? { path: join() } : { path: join(), path_cut: true }
}

/** Whether a record leaves this machine. */
export function isUploaded(
  record: UploadedRecord,
  { upload, sample_percent }: EvidenceSettings,
  deviceId: string,
): boolean {
  if (upload === 'off') return false
  if (upload === 'full' || isDenial(record)) return true
  return upload === 'sampled' && sampleOf(record, deviceId) < sample_percent
}

/** Denied, or denied as soon as the organization enforces its default or its shadow policies. */
function isDenial({ decision, reason, shadow }: UploadedRecord): boolean {
  return decision === 'deny' || reason === 'observed' || shadow?.decision === 'deny'
}

/**
 * 0 to 99, equal for records that the server cannot tell apart but by time, number and revision, so
 * that the counts of a request are whole or missing. Each machine draws other requests: a fleet
 * must not miss the same ones everywhere. Only uploaded members count, because the choice would
 * tell about the others.
 */
function sampleOf(record: UploadedRecord, deviceId: string): number {
  const { point, protocol, decision, reason, shadow, request, program, os_user } = record
  const tuple = [deviceId, point, protocol, decision, reason, shadow, request, program, os_user]
  const hash = createHash('sha256').update(JSON.stringify(tuple)).digest()
  return Math.floor((hash.readUInt32BE(0) / 2 ** 32) * 100)
}
