import type { Building } from './floors.ts'

/** The rooms of the evaluator. */
export const CORE: Building = {
  root: 'packages/policy-core/src/',
  floors: [
    ['index.ts', 'internal.ts'],
    ['self-test'],
    ['decision'],
    ['language', 'lookup'],
    ['errors.ts'],
    ['policy'],
    ['pattern'],
    ['host', 'path'],
    ['address'],
    ['quote.ts', 'result.ts', 'steps.ts'],
  ],
}
