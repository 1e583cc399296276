import type { CanonicalRequest, RuleMatch } from '@palisade/policy-core'
import type { RecordPoint, RecordProtocol } from '@palisade/protocol'
import type { ListedDecision } from '../policy/decision/listed-rules.ts'
import type { MachineDecision } from '../policy/decision/active-policy.ts'
import type { FlowEnd } from '../enforcement/enforcement-event.ts'
import type { ClientEndpoint } from '../host/process-lookup/client-endpoint.ts'

/** An event of an enforcement point, or a decision of the local API. */
export interface RecordedEvent {
  readonly point: RecordPoint
  readonly protocol: RecordProtocol
  /** Id of the sandbox in which the program runs; absent outside of any. */
  readonly sandbox?: string
  readonly decision: MachineDecision
  /** The address of the program in its connection, or null where it is unknown. */
  readonly client: ClientEndpoint | null
  /** Present at the end of a connection that was allowed. */
  readonly flow?: FlowEnd
}

/** An event at its time, in epoch milliseconds, with its key. */
export interface StampedEvent extends Omit<RecordedEvent, 'client'> {
  readonly key: string
  readonly atMs: number
}

/** Rules that a record lists, and that tell two decisions apart. */
const MAX_RULES = 10
/** Longest text of a rule or a hint, in characters. */
const MAX_TEXT = 512

/** Keeps of an event only the parts that a record needs. */
export function stampEvent(event: RecordedEvent, atMs: number): StampedEvent {
  const { point, protocol, sandbox, flow } = event
  const decision = withoutText(event.decision)
  return {
    key: keyOf(event),
    atMs,
    point,
    protocol,
    ...(sandbox === undefined ? {} : { sandbox }),
    decision: isShort(decision) ? decision : recordedDecision(decision),
    ...(flow === undefined ? {} : { flow }),
  }
}

/**
 * Equal for events that count as one record, except for their program. Texts that may hold any
 * character have their length before them, so that no two events share a key by a chosen spelling.
 */
function keyOf({ point, protocol, sandbox, decision, flow }: RecordedEvent): string {
  const { reason, revision, stale, break_glass, address_required, rules, request } = decision
  const { content, hint, shadow } = decision
  let key = `${point} ${protocol} ${decision.decision} ${reason} ${revision} ${stale}`
  if (sandbox !== undefined) key += ` sandbox ${sandbox.length} ${sandbox}`
  if (break_glass === true) key += ' break_glass'
  if (address_required === true) key += ' address_required'
  if (flow !== undefined) key += ` ${flow.cause}`
  // The hint alone says which name the content has; else a denial could hide behind another one.
  if (content !== undefined) key += ` ${content} ${hint?.length ?? 0} ${hint ?? ''}`
  key += keyOfRules(rules)
  if (shadow !== undefined)
    key += ` shadow ${shadow.decision} ${shadow.reason}${keyOfRules(shadow.rules)}`
  return key + keyOfRequest(request)
}

function keyOfRules(rules: readonly RuleMatch[]): string {
  let key = ` ${rules.length}`
  const named = Math.min(rules.length, MAX_RULES)
  for (let index = 0; index < named; index += 1) key += keyOfRule(rules[index])
  return key
}

function keyOfRule(rule: RuleMatch | undefined): string {
  return rule === undefined ? '' : ` ${rule.rule_id.length} ${rule.rule_id}`
}

/** Canonical hosts and addresses have no space. */
function keyOfRequest(request: CanonicalRequest | null): string {
  if (request === null) return ''
  if ('path' in request) return ` ${request.action} ${request.path.length} ${request.path}`
  return ` ${request.action} ${request.host} ${request.port} ${request.address ?? ''}`
}

/**
 * The part of a decision that a record keeps. Tens of thousands of rules may decide one request,
 * and the recorder holds thousands of decisions.
 */
export function recordedDecision(decision: MachineDecision): ListedDecision<MachineDecision> {
  const { rules, hint, shadow } = decision
  return {
    ...decision,
    rules: rules.slice(0, MAX_RULES).map(cutRule),
    hint: hint === null ? null : cut(hint),
    ...(shadow === undefined
      ? {}
      : { shadow: { ...shadow, rules: shadow.rules.slice(0, MAX_RULES).map(cutRule) } }),
    ...(rules.length <= MAX_RULES ? {} : { rules_omitted: rules.length - MAX_RULES }),
  }
}

/** The text is the same after every denial, and the settings have it. */
function withoutText(decision: MachineDecision): MachineDecision {
  if (decision.support_message === undefined) return decision
  const { support_message: _text, ...recorded } = decision
  return recorded
}

function isShort({ rules, shadow }: MachineDecision): boolean {
  return rules.length <= MAX_RULES && (shadow?.rules.length ?? 0) <= MAX_RULES
}

function cutRule(rule: RuleMatch): RuleMatch {
  return {
    ...rule,
    policy_id: cut(rule.policy_id),
    policy_name: cut(rule.policy_name),
    rule_id: cut(rule.rule_id),
    rule_name: cut(rule.rule_name),
    resource: cut(rule.resource),
  }
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`
}
