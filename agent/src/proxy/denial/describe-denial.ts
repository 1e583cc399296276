import type { CanonicalRequest } from '@palisade/policy-core'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import { formatAuthority } from '../target/authority.ts'
import { isLoopHint } from '../target/proxy-loop.ts'

/** A rule's name may have 255 code points. */
const MAX_NAME_LENGTH = 64

/**
 * Describes a denial in one sentence, such as `Palisade: example.com:443 denied by rule "no
 * uploads"; run: palisade explain connect:tcp example.com:443`. The sentence is printable ASCII of
 * at most 1,000 characters for every rule name, so it is safe as a reason phrase (RFC 9112 §4) and
 * on a terminal.
 */
export function describeDenial(decision: MachineDecision): string {
  return `Palisade: ${describeOutcome(decision)}; run: ${commandOfDetails(decision)}`
}

/** The target and why it is denied, such as `example.com:443 denied, no rule allows it`. */
export function describeOutcome(decision: MachineDecision): string {
  return `${formatTarget(decision.request)} ${toPredicate(decision)}`
}

/** The command that explains the denial. */
export function commandOfDetails(decision: MachineDecision): string {
  const { request, content } = decision
  if (isOfPolicy(decision) && request !== null)
    return `palisade explain ${request.action} ${formatTarget(request)}`
  return content === undefined ? 'palisade status' : 'palisade why'
}

/** The rule that would allow the request; `command` asks for a grant, where one can help. */
export interface Advice {
  readonly rule: string
  readonly command: string | null
}

/** Null where no rule alone would help. No access grant opens a protected address. */
export function adviceOf(decision: MachineDecision): Advice | null {
  const { hint, reason, request } = decision
  if (!isOfPolicy(decision) || hint?.startsWith('allow ') !== true) return null
  if (reason !== 'default_deny') return { rule: hint, command: null }
  const command = `palisade request ${formatTarget(request)} ${formatAction(request)}--reason TEXT`
  return { rule: hint, command }
}

/** Whether the answer stays the same until the policy changes. */
function isOfPolicy({ reason }: MachineDecision): boolean {
  return reason === 'rule' || reason === 'default_deny' || reason === 'protected_address'
}

function toPredicate(decision: MachineDecision): string {
  switch (decision.reason) {
    case 'rule':
      return describeRules(decision)
    case 'default_deny':
      return describeDefault(decision)
    case 'protected_address':
      return describeProtection(decision)
    case 'no_policy':
      return `denied, ${decision.hint ?? 'this machine has no policy'}`
    case 'policy_expired':
      return 'denied, the policy has expired'
    case 'unsupported_policy':
      return 'denied, the policy needs a newer agent'
    case 'invalid_request':
      return describeInvalid(decision)
    case 'observed':
      return 'denied'
  }
}

/** Where no rule can be named alone, the hint says why. */
function describeDefault({ hint }: MachineDecision): string {
  return hint === null || hint.startsWith('allow ')
    ? 'denied, no rule allows it'
    : `denied, ${hint}`
}

function describeInvalid({ content, hint }: MachineDecision): string {
  return `denied, ${content === undefined ? 'the request is invalid' : (hint ?? '')}`
}

function describeRules({ rules }: MachineDecision): string {
  const first = toPlainText(rules[0]?.rule_name ?? '')
  return `denied by rule "${first}"${rules.length <= 1 ? '' : ` and ${rules.length - 1} more`}`
}

function describeProtection({ request, hint }: MachineDecision): string {
  if (isLoopHint(hint)) return `denied, ${hint}`
  if (request === null || !('host' in request) || request.address === request.host)
    return 'denied, the address is protected'
  return `denied, it resolves to the protected address ${request.address ?? ''}`
}

/**
 * Advice after a denial by policy, or null: an automated client must not retry, and a person learns
 * how to get access. The organization governs every machine.
 */
export function describeRemedy(decision: MachineDecision): string | null {
  if (!isOfPolicy(decision)) return null
  const access = describeAccess(decision)
  return `do not retry, the answer stays the same until the policy changes; ${access}`
}

/** No rule should open an address of cloud metadata; the hint says so. */
export function describeAccess(decision: MachineDecision): string {
  const { hint, reason } = decision
  const advice = adviceOf(decision)
  if (advice === null)
    return hint !== null && reason === 'protected_address'
      ? hint
      : 'for access ask an editor of the organization'
  const rule = `an editor of the organization can add: ${advice.rule}`
  return advice.command === null ? rule : `${rule}; for access for a while run: ${advice.command}`
}

function formatTarget(request: CanonicalRequest | null): string {
  return request !== null && 'host' in request ? formatAuthority(request, null) : 'the request'
}

/** The option for the action; empty for TCP, which is the default. */
function formatAction(request: CanonicalRequest | null): string {
  return request?.action === 'connect:udp' ? '--action connect:udp ' : ''
}

/** Removes line breaks, closing quotes, and characters that confuse a terminal or an old parser. */
function toPlainText(name: string): string {
  const plain = name.replaceAll('"', "'").replaceAll(/[^\x20-\x7e]/gu, '?')
  return plain.length <= MAX_NAME_LENGTH ? plain : `${plain.slice(0, MAX_NAME_LENGTH - 3)}...`
}
