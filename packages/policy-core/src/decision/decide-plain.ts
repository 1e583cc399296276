import { isPort } from '../host/port.ts'
import { slotOf } from '../lookup/flags.ts'
import { DEFAULT_DENY } from '../lookup/verdict.ts'
import { NOT_PLAIN } from '../lookup/name/name-scan.ts'
import { answer, answerUnresolved, type Bundle } from './answer.ts'
import type { CompiledPolicy } from './compiled-policy.ts'
import type { ConnectRequest, Decision, PathRequest } from './decision.ts'
import { isUnresolved } from './evaluate.ts'
import { hintFor, hintForIpv6, hintForName, hintForPlainPath } from './hint.ts'
import { judgeAddress } from './judge-address.ts'
import type { ConnectMembers, PathMembers, RequestMembers } from './request.ts'

const DIGIT_0 = 48
const DIGIT_9 = 57

/**
 * Decides what is canonical at first sight, as nearly every request is: checked and looked up in
 * one pass. Null for everything else, which has to be parsed first and comes out the same.
 */
export function decidePlain(
  policy: CompiledPolicy,
  members: RequestMembers,
  bundle: Bundle,
): Decision | null {
  if (isAboutPath(members))
    return isPath(members) && policy.caseSensitive ? decidePath(policy, members, bundle) : null
  if (!isConnect(members)) return null
  if (members.address !== undefined) return decideNameAt(policy, members, bundle)
  const first = members.host.charCodeAt(0)
  return first >= DIGIT_0 && first <= DIGIT_9
    ? (decideAddress(policy, members, bundle) ?? decideName(policy, members, bundle))
    : (decideName(policy, members, bundle) ?? decideAddress(policy, members, bundle))
}

/** By the action, which says what members there are. */
function isAboutPath(members: RequestMembers): members is PathMembers {
  return members.action === 'read' || members.action === 'write'
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

function decidePath(policy: CompiledPolicy, request: PathRequest, bundle: Bundle): Decision | null {
  const { action, path } = request
  const set = policy.paths.find(path)
  if (set === null) return null
  const verdict = policy.verdicts.of(set, slotOf(action))
  const hint = verdict === DEFAULT_DENY ? hintForPlainPath(action, path) : null
  return answer(verdict, request, bundle, hint)
}

function decideName(
  policy: CompiledPolicy,
  request: ConnectRequest,
  bundle: Bundle,
): Decision | null {
  const { names } = policy
  const { action, host, port } = request
  const set = names.find(host)
  if (set === NOT_PLAIN) return null
  const { sets } = names
  const verdict = policy.verdicts.ofChain(sets, sets.at(set, port), slotOf(action))
  const hint = verdict === DEFAULT_DENY ? hintForName(action, host, port) : null
  return isUnresolved(policy, verdict, action)
    ? answerUnresolved(verdict, request, bundle, hint)
    : answer(verdict, request, bundle, hint)
}

/** What an enforcement point asks for each address that the name resolved to. */
function decideNameAt(
  policy: CompiledPolicy,
  { action, host, port, address = '' }: ConnectRequest,
  bundle: Bundle,
): Decision | null {
  const { names, addressReader: reader } = policy
  const set = names.find(host)
  const family = reader.read(address)
  if (set === NOT_PLAIN || family === 0) return null
  const canonical = reader.isCanonical() ? address : reader.format()
  const request = { action, host, port, address: canonical }
  const verdict = judgeAddress(policy, request, names.sets.at(set, port), family)
  return answer(verdict, request, bundle, hintFor(verdict.reason, request))
}

function decideAddress(
  policy: CompiledPolicy,
  { action, host, port }: ConnectRequest,
  bundle: Bundle,
): Decision | null {
  const reader = policy.addressReader
  const family = reader.read(host)
  if (family === 0 || !reader.isCanonical()) return null
  const request = { action, host, port, address: host }
  const verdict = judgeAddress(policy, request, null, family)
  if (verdict.reason === 'rule') return answer(verdict, request, bundle, null)
  // A default deny or a protected address, which would be opened alike.
  const hint = family === 4 ? hintForName(action, host, port) : hintForIpv6(action, host, port)
  return answer(verdict, request, bundle, hint)
}
