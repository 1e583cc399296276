import type { Building } from './floors.ts'

/** The rooms of the analyses of policies. */
export const ANALYSIS: Building = {
  root: 'packages/policy-analysis/src/',
  floors: [['index.ts'], ['lint', 'compare'], ['max-steps.ts', 'overlap'], ['pattern']],
}
