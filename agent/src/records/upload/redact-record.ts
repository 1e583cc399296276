import {
  isUploaded as isWanted,
  limitRecord,
  type DecisionRecord,
  type EvidenceSettings,
  type UploadedRecord,
  type UploadedRequest,
  type UploadedRule,
} from '@palisade/protocol'
import { createHash } from 'node:crypto'

const MAX_USER = 256
const SANDBOX = /^[\w-]{1,64}$/

/** The record without the members that never leave this machine, or that the settings keep here. */
export function redactRecord(record: DecisionRecord, settings: EvidenceSettings): UploadedRecord {
  const { time, until, point, protocol, sandbox, decision, count, program, flow } = record
  const uploaded: UploadedRecord = {
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
    request: redactRequest(decision.request),
    revision: decision.revision,
    ...(decision.stale ? { stale: true as const } : {}),
    ...(decision.break_glass === true ? { break_glass: true as const } : {}),
    count,
    ...redactProgram(program),
    ...(flow === undefined
      ? {}
      : { flow: { bytes_sent: flow.bytes_sent, bytes_received: flow.bytes_received } }),
  }
  return limitRecord(uploaded, settings)
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
): Pick<UploadedRecord, 'program' | 'os_user'> {
  const { executable, user } = program ?? {}
  return {
    ...(executable !== undefined ? { program: executable } : {}),
    ...(user?.name !== undefined ? { os_user: user.name.slice(0, MAX_USER) } : {}),
  }
}

function redactRequest(request: DecisionRecord['decision']['request']): UploadedRequest | null {
  if (request === null) return null
  if ('path' in request) return { action: request.action, path: request.path }
  const { action, host, port, address } = request
  return { action, host, port, ...(address === undefined ? {} : { address }) }
}

/** Whether a record leaves this machine. */
export function isUploaded(
  record: UploadedRecord,
  settings: EvidenceSettings,
  deviceId: string,
): boolean {
  return isWanted(record, settings, { deviceId, hash: sha256 })
}

function sha256(text: string): Uint8Array {
  return createHash('sha256').update(text).digest()
}
