import type { NearMiss } from '../policy/decision.ts'

/** The reason why a resource missed, as a code and as a sentence. */
export type Miss = Pick<NearMiss, 'miss' | 'message'>

/** Ordered from the smallest to the largest change of a rule. */
const BY_NEARNESS: readonly NearMiss['miss'][] = [
  'shadow',
  'expired',
  'not_begun',
  'spent',
  'inactive',
  'letter_case',
  'other_port',
  'other_action',
  'apex_not_covered',
  'directory_not_covered',
  'too_many_labels',
  'too_many_segments',
  'subdomain_not_covered',
  'contents_not_covered',
]

/** A rank: the lower, the nearer. */
export function nearness({ miss }: Pick<Miss, 'miss'>): number {
  return BY_NEARNESS.indexOf(miss)
}

/** The nearer of two; the first when they are equal. */
export function nearerMiss<M extends Miss>(a: M, b: M): M {
  return nearness(b) < nearness(a) ? b : a
}
