import type { Assurance, ProbeResult } from '@palisade/protocol'

/** Probes run every hour. An older result says too little about now. */
export const MAX_PROBE_AGE_MS = 2.5 * 3_600_000

/** The probes that the classes are about. */
type Assessed = 'proxy' | 'sandbox' | 'strict'

const SUBJECT: Readonly<Record<Assessed, string>> = {
  proxy: 'the proxy',
  sandbox: 'a sandbox',
  strict: 'a strict sandbox',
}

/**
 * The class that the last self-probes have shown at the time `nowMs`, and why it is not higher. An
 * agent that is shared by all users makes no sandboxes. Settings do not count: a point that is
 * switched on need not hold.
 */
export function assess(
  results: Readonly<Record<Assessed, ProbeResult | null>>,
  { nowMs, isShared }: { readonly nowMs: number; readonly isShared: boolean },
): Assurance {
  const doubt = (name: Assessed): string | null => findDoubt(name, results[name], nowMs)
  const proxy = doubt('proxy')
  if (proxy !== null) return { class: 'decisions-only', reason: proxy }
  if (isShared) return { class: 'proxy-only', reason: 'an agent for all users makes no sandboxes' }
  const sandbox = doubt('sandbox')
  if (sandbox !== null) return { class: 'proxy-only', reason: sandbox }
  const strict = doubt('strict')
  if (strict !== null) return { class: 'linux-sandbox', reason: strict }
  return { class: 'linux-strict', reason: null }
}

/** Null for a point that has lately shown that it holds. */
function findDoubt(name: Assessed, result: ProbeResult | null, nowMs: number): string | null {
  if (result === null) return `${SUBJECT[name]} was not tried yet`
  if (!result.ok) return `${SUBJECT[name]} failed its self-probe: ${result.detail}`
  const ageMs = nowMs - Date.parse(result.at)
  // A time ahead of the clock was measured by a clock that has been set back since.
  const isRecent = ageMs <= MAX_PROBE_AGE_MS && ageMs >= -MAX_PROBE_AGE_MS
  return isRecent ? null : `the last self-probe of ${SUBJECT[name]} is too old`
}
