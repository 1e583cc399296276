import { z } from 'zod'

/**
 * Names with which a machine tests that its policy is in force. `internal` is reserved for private
 * use and is never delegated (ICANN, July 2024), so a query that leaks anyway finds no owner.
 * `invalid`, `test` and `localhost` (RFC 6761) would fail or succeed before they reach a proxy, and
 * `alt` (RFC 9476) is for names outside DNS.
 */
export const PROBE_NAMES = {
  /** Denied by every agent, whatever the policy says. */
  refused: 'denied.probe.palisade.internal',
  /** The parent of the names that an agent allows itself, one for each probe. */
  allowed: 'allowed.probe.palisade.internal',
} as const

/** The last test that an enforcement point made of itself. */
export const probeResultSchema = z.object({
  /** RFC 3339 UTC. */
  at: z.string(),
  /** Whether the allowed canary passed and the refused one was denied. */
  ok: z.boolean(),
  /** A sentence for people. */
  detail: z.string(),
})
export type ProbeResult = z.infer<typeof probeResultSchema>
