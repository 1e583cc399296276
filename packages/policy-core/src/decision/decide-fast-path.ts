import { isPort } from '../host/port.ts'
import { formatAsked, readAddress } from '../lookup/address/read-address.ts'
import { NOT_PLAIN } from '../lookup/name/name-scan.ts'
import { DEFAULT_DENY } from '../lookup/verdict.ts'
import { slotOf } from '../policy/policy.ts'
import { answer, answerUnresolved } from './answer.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import type { ConnectRequest, Decision, PathRequest } from '../policy/decision.ts'
import { isUnresolved } from './evaluate.ts'
import { hintFor, hintForLiteral, hintForName, hintForPlainPath } from './hint.ts'
import { evaluateAddress, evaluateLiteral } from './evaluate-address.ts'
import {
  isAboutPath,
  type ConnectMembers,
  type PathMembers,
  type RequestMembers,
} from './request.ts'

const DIGIT_0 = 48
const DIGIT_9 = 57

/**
 * Decides a plainly canonical request, checking and looking it up in one pass. Returns null to fall
 * through to parsing, which gives the same decision.
 *
 * V8 inlines a path of this function only while it is short: at most 920 bytes of bytecode,
 * including all calls.
 */
export function decideFastPath(policy: CompiledPolicy, members: RequestMembers): Decision | null {
  if (isAboutPath(members)) return isPath(members) ? decidePath(policy, members) : null
  if (!isConnect(members)) return null
  if (members.address !== undefined) return decideNameAt(policy, members)
  const first = members.host.charCodeAt(0)
  return first >= DIGIT_0 && first <= DIGIT_9
    ? (decideAddress(policy, members) ?? decideName(policy, members))
    : (decideName(policy, members) ?? decideAddress(policy, members))
}

function isPath(members: PathMembers): members is PathRequest {
  return typeof members.path === 'string'
}

function isConnect(members: ConnectMembers): members is ConnectRequest {
  const { host, port, address } = members
  return (
    typeof host === 'string' &&
    isPort(port) &&
    (address === undefined || typeof address === 'string')
  )
}

function decidePath(policy: CompiledPolicy, request: PathRequest): Decision | null {
  const { action, path } = request
  const set = policy.caseSensitive ? policy.paths.find(path) : null
  if (set === null) return null
  const slot = slotOf(action)
  const verdict = policy.verdicts.of(set, slot)
  const hint = verdict === DEFAULT_DENY ? hintForPlainPath(slot, path) : null
  return answer(verdict, request, policy.revision, hint)
}

function decideName(policy: CompiledPolicy, request: ConnectRequest): Decision | null {
  const { names, revision } = policy
  const { action, host, port } = request
  const set = names.find(host)
  if (set === NOT_PLAIN) return null
  const slot = slotOf(action)
  const verdict = policy.verdicts.of(names.sets.at(set, port), slot)
  const hint = verdict === DEFAULT_DENY ? hintForName(slot, host, port) : null
  return isUnresolved(policy, verdict, slot)
    ? answerUnresolved(verdict, request, revision, hint)
    : answer(verdict, request, revision, hint)
}

/** Decides a name with one of its addresses, as an enforcement point asks after resolving it. */
function decideNameAt(
  policy: CompiledPolicy,
  { action, host, port, address = '' }: ConnectRequest,
): Decision | null {
  const { names } = policy
  const set = names.find(host)
  const asked = readAddress(address)
  if (set === NOT_PLAIN || asked === null) return null
  const canonical = asked.isCanonical ? address : formatAsked(asked)
  const request = { action, host, port, address: canonical }
  const verdict = evaluateAddress(policy, request, names.sets.at(set, port), asked)
  return answer(verdict, request, policy.revision, hintFor(verdict.reason, request))
}

function decideAddress(
  policy: CompiledPolicy,
  { action, host, port }: ConnectRequest,
): Decision | null {
  const asked = readAddress(host)
  if (asked === null || !asked.isCanonical) return null
  const slot = slotOf(action)
  const verdict = evaluateLiteral(policy, port, slot, asked)
  const request = { action, host, port, address: host }
  const hint =
    verdict === DEFAULT_DENY
      ? hintForLiteral(slot, host, port, asked.family)
      : hintFor(verdict.reason, request)
  return answer(verdict, request, policy.revision, hint)
}
