// A further action is one more word in one of the lists, up to four in each. The slot of an action,
// and so each decision, is its place in its list: callers get frozen copies. V8 reads a frozen list
// more slowly. bench: decide/hosts
const NETWORK = ['connect:tcp', 'connect:udp'] as const
const FILESYSTEM = ['read', 'write'] as const

/** The actions on a host and port. */
export const NETWORK_ACTIONS: typeof NETWORK = /* @__PURE__ */ Object.freeze([...NETWORK])

/** The actions on a path. */
export const FILESYSTEM_ACTIONS: typeof FILESYSTEM = /* @__PURE__ */ Object.freeze([...FILESYSTEM])

/** An action on a host and port; `connect:tcp` does not include `connect:udp`. */
export type NetworkAction = (typeof NETWORK_ACTIONS)[number]

/** An action on a path; `write` does not include `read`. */
export type FilesystemAction = (typeof FILESYSTEM_ACTIONS)[number]

/** The action of a request. */
export type Action = NetworkAction | FilesystemAction

/** All actions of rules: the closed list of the wire, network actions first. */
export const ACTIONS: readonly [...typeof NETWORK, ...typeof FILESYSTEM] =
  /* @__PURE__ */ Object.freeze([...NETWORK, ...FILESYSTEM] as const)

/** Kind of the resources of a rule; derived from its actions, never chosen. */
export type Domain = 'network' | 'filesystem'

/** The decision of a rule and of an evaluation. */
export type RuleDecision = 'allow' | 'deny'

/** One rule, in the shape of the governance API. */
export interface Rule {
  readonly id: string
  readonly name: string
  readonly actions: readonly Action[]
  readonly decision: RuleDecision
  /** Patterns as written; matched in canonical form only. */
  readonly resources: readonly string[]
  /**
   * RFC 3339 UTC, such as `2026-11-26T14:00:00Z`. The rule matches before this instant only. Absent
   * means always.
   */
  readonly expires_at?: string | undefined
}

/** Team UUIDs a policy applies to. Absent or empty means the whole organization. */
export interface Scope {
  readonly teams?: readonly string[] | undefined
}

/**
 * The part of a policy that the evaluator reads. The API's full representation (`org`,
 * `created_at`, `updated_at`) satisfies it.
 */
export interface Policy {
  readonly id: string
  readonly name: string
  readonly scope?: Scope | undefined
  /**
   * `enforce` or `shadow`. A shadow policy never decides: decisions only tell where they would
   * differ with it. Absent or any other value means `enforce`.
   */
  readonly mode?: string | undefined
  /** Absent while the policy has no rules. */
  readonly allowlist_v0?: { readonly rules: readonly Rule[] } | undefined
}

/** Tells whether a policy decides nothing. */
export function isShadow({ mode }: Policy): boolean {
  return mode === 'shadow'
}

/** Tells whether `value` is one of `ACTIONS`. */
export function isAction(value: unknown): value is Action {
  return isNetworkAction(value) || isFilesystemAction(value)
}

/** Tells whether `value` is an action on a host and port. */
export function isNetworkAction(value: unknown): value is NetworkAction {
  return slotIn(NETWORK, value) >= 0
}

/** Tells whether `value` is an action on a path. */
export function isFilesystemAction(value: unknown): value is FilesystemAction {
  return slotIn(FILESYSTEM, value) >= 0
}

/** The domain that an action belongs to. */
export function domainOf(action: Action): Domain {
  return isFilesystemAction(action) ? 'filesystem' : 'network'
}

/** The other actions of the same list. */
export function otherActions<A extends Action>(action: A, actions: readonly A[]): readonly A[] {
  return actions.filter((other) => other !== action)
}

/** The slot of an action: its index among the actions of its domain. */
export function slotOf(action: Action): number {
  const slot = slotIn(NETWORK, action)
  return slot >= 0 ? slot : slotIn(FILESYSTEM, action)
}

/** Like `indexOf`, but faster. bench: decide/hosts */
function slotIn(actions: readonly Action[], value: unknown): number {
  for (let slot = 0; slot < actions.length; slot += 1) if (actions[slot] === value) return slot
  return -1
}
