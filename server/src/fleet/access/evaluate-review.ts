import { compare, isNoWider, lint } from '@palisade/policy-analysis'
import { compilePolicy, decide, isNetworkAction, type Policy } from '@palisade/policy-core'
import type { AccessEffect, AccessReview } from '@palisade/protocol'
import { describeSensitivePath } from '../../evidence/suggest/sensitive-path.ts'
import { requireNarrower, type Wanted } from './decide-request.ts'
import { compileAllowed, policyOf, requireGrantable, type Allowed } from './require-grantable.ts'

const MAX_STEPS = 50_000

/** What an approver gives. */
export interface Approval {
  readonly request: Wanted
  readonly duration_seconds: number
  readonly once: boolean
}

/** All data of a review, for a process of its own. */
export interface ReviewJob extends Allowed {
  /** Null for a review that only shows. */
  readonly approval: Approval | null
  readonly username: string
  /** The policies of the user, without rules about other actions; null for too many. */
  readonly rules: readonly Policy[] | null
  readonly nowMs: number
  /** Denials of the user by no rule. */
  readonly denials: readonly RecordedDenial[]
  /** Whether these are all denials. */
  readonly complete: boolean
}

export interface RecordedDenial {
  /** A `DecisionRequest`. */
  readonly request: unknown
  readonly decisions: number
  /** Epoch milliseconds. */
  readonly last_ms: number
}

/**
 * What the grant changes for its user, and which of the user's denials it would have allowed.
 * Throws ApiError 400 for an approval of more than was asked for, or of what no grant may open.
 */
export function evaluateReview(job: ReviewJob): AccessReview {
  const { action, approval, resources, username, rules, nowMs } = job
  if (approval !== null) {
    const { request, duration_seconds, once } = approval
    requireGrantable({ action, resources, once })
    requireNarrower(request, { resources, duration_seconds })
  }
  const home = `/home/${username}`
  const effects = resources.map((resource) => {
    const allowed = { action, resources: [resource] }
    return { resource, effect: rules === null ? 'unknown' : effectOf(allowed, rules, home, nowMs) }
  })
  const findings = [...findSensitive(job, home), ...findByLint(job)]
  return { findings, resources: effects, recorded: countAllowed(job, home) }
}

function findByLint(allowed: Allowed): AccessReview['findings'] {
  return lint({ policies: [policyOf(allowed)] }).map(({ code, severity, message, mend }) => ({
    code,
    severity,
    message,
    mend,
  }))
}

/** The paths that no suggestion opens, such as `~/.ssh/**`; an approver may. */
function findSensitive({ action, resources }: Allowed, home: string): AccessReview['findings'] {
  if (isNetworkAction(action)) return []
  return resources.flatMap((resource) => {
    const directory = resource.replace(/^~(?=\/|$)/, () => home).replace(/(?:\/\*{1,2})+$/, '')
    const why = describeSensitivePath(directory)
    if (why === null) return []
    const message = `\`${resource}\` opens ${why}`
    const mend = 'approve only the files that are needed'
    return [{ code: 'sensitive_path', severity: 'warning', message, mend }]
  })
}

function effectOf(
  allowed: Allowed,
  rules: readonly Policy[],
  home: string,
  nowMs: number,
): AccessEffect {
  const options = { maxSteps: MAX_STEPS, now: nowMs }
  const grant = policyOf(allowed)
  // Policies may have the highest cost already, and nothing is decided here.
  const compile = (policies: readonly Policy[]) =>
    compilePolicy({ policies, home }, { patternLimits: false })
  const granted = compile([...rules.map(onlyDenies), grant])
  const left = compare(compile([]), granted, options)
  if (!left.complete) return 'unknown'
  if (left.reachable.length === 0) return 'denied'
  const opened = compare(compile(rules), compile([...rules, grant]), options)
  if (!opened.complete) return 'unknown'
  if (opened.reachable.length === 0) return 'allowed'
  const whole = isNoWider(granted, compile([grant]), options)
  if (whole.answer === 'unknown') return 'unknown'
  return whole.answer === 'yes' ? 'opens' : 'partly_denied'
}

function onlyDenies(policy: Policy): Policy {
  const rules = (policy.allowlist_v0?.rules ?? []).filter(({ decision }) => decision === 'deny')
  return { ...policy, allowlist_v0: { rules } }
}

/** Repetitions count each. */
function countAllowed(job: ReviewJob, home: string): AccessReview['recorded'] {
  const grant = compileAllowed(job, home)
  const allowed = job.denials.filter(({ request }) => decide(grant, request).decision === 'allow')
  const requests = allowed.reduce((sum, { decisions }) => sum + decisions, 0)
  const lastMs = Math.max(...allowed.map(({ last_ms }) => last_ms))
  const last_at = allowed.length === 0 ? null : new Date(lastMs).toISOString()
  return { requests, last_at, complete: job.complete }
}
