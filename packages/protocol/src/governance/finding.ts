import { z } from 'zod'

/** A finding of the linter; see `LINT_SEVERITIES` of policy-core. */
export const findingSchema = z
  .strictObject({
    code: z.string(),
    severity: z.enum(['error', 'warning', 'info']),
    message: z.string(),
    mend: z.string(),
  })
  .meta({ id: 'Finding' })
export type FindingBody = z.infer<typeof findingSchema>
