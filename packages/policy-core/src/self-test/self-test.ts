import type { FilesystemAction, NetworkAction } from '../policy/policy.ts'

/** Expected matches, as indices into the policy's `allowlist_v0.rules`, from 0. */
export interface SelfTestExpectation {
  /** Rules that match the request, on every machine and beside any other policies. */
  readonly match: readonly number[]
  /** Rules that do not match the request. The vector makes no statement about other rules. */
  readonly miss: readonly number[]
}

/**
 * A request with the rules of one policy that match it. It does not state the decision, because
 * other policies of the machine affect that.
 */
export type SelfTestVector =
  | (SelfTestExpectation & {
      readonly kind: 'connect'
      readonly action: NetworkAction
      /** Canonical. */
      readonly host: string
      readonly port: number
      /** An assumed address of the name. */
      readonly address?: string | undefined
    })
  | (SelfTestExpectation & {
      readonly kind: 'path'
      readonly action: FilesystemAction
      /** Canonical, but that `~` stands for the home directory as in rules. */
      readonly path: string
    })
