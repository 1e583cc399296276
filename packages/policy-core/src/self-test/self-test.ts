import type { FilesystemAction, NetworkAction } from '../policy/policy.ts'

/** What a vector says of rules: their places in the policy's `allowlist_v0.rules`, from 0. */
export interface SelfTestExpectation {
  /** Rules that match the request, on every machine and beside any other policies. */
  readonly match: readonly number[]
  /** Rules that do not. Of all others the vector says nothing. */
  readonly miss: readonly number[]
}

/**
 * A request and which rules of one policy match it: not what is decided, because other policies of
 * the machine have a say in that.
 */
export type SelfTestVector =
  | (SelfTestExpectation & {
      readonly kind: 'connect'
      readonly action: NetworkAction
      /** Canonical. */
      readonly host: string
      readonly port: number
      /** What the name is taken to have resolved to. */
      readonly address?: string | undefined
    })
  | (SelfTestExpectation & {
      readonly kind: 'path'
      readonly action: FilesystemAction
      /** Canonical, but that `~` stands for the home directory as in rules. */
      readonly path: string
    })
