import { z } from 'zod'

/** The closed list of error codes of the governance API. Clients test the code, never the text. */
export const ERROR_CODES = [
  'invalid_argument',
  'unauthenticated',
  'permission_denied',
  'limit_exceeded',
  'not_found',
  'conflict',
  'internal',
] as const
export type ErrorCode = (typeof ERROR_CODES)[number]

/** Further reasons may be added. */
const REASONS = `More specific than \`code\`, for programs.
\`domain_mismatch\`: actions or policies of the domains \`network\` and \`filesystem\` are mixed.
\`path_cost\`: path patterns with \`*\` would exceed the cost limit of an organization.
\`team_in_use\`: a policy names the team.
\`label_unused\`: no machine has the label of the rollout.
\`history_removed\`: later events were removed after their retention.
\`overloaded\`: a machine should retry after \`Retry-After\`.`

/** The body of every answer except 2xx and 304. Further members may be added. */
export const errorEnvelopeSchema = z
  .object({
    error: z.object({
      code: z.enum(ERROR_CODES),
      /** Short lower-case sentence; informational. */
      message: z.string(),
      reason: z.string().optional().meta({ description: REASONS }),
      /** The member, query parameter or header at fault, such as `resources[0]`. */
      field: z.string().optional(),
      request_id: z.string().optional(),
    }),
  })
  .meta({ id: 'Error', description: 'Error envelope' })
export type ErrorEnvelope = z.infer<typeof errorEnvelopeSchema>
