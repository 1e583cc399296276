import { z } from 'zod'
import { nameSchema } from '../name.ts'
import { createRuleRequestSchema } from './rule.ts'
import { expiresAtSchema, policyModeSchema } from './rule-life.ts'

/**
 * Policies in files of administrators: all references are by name, without ids and timestamps.
 * `POST /api/v1/orgs/{org}/apply` applies them to an organization, `GET …/export` returns the
 * current ones, and `palisade plan`, `apply` and `export` read and write files of this form.
 */
const teamsSchema = z.array(nameSchema).meta({
  description: 'Names or UUIDs of the teams whose members the policy applies to',
})

const scopeSchema = z.strictObject({ teams: teamsSchema.optional() }).meta({
  description:
    'Audience of the policy: `{}` means the whole organization. A policy for teams becomes ' +
    'organization-wide only when this is present.',
})

const EXAMPLE = {
  name: 'package registry',
  scope: {},
  rules: [
    {
      name: 'npm packages',
      actions: ['connect:tcp'],
      decision: 'allow',
      resources: ['npm.example.com:443'],
    },
  ],
} as const

/** A rule of a document; one without `expires_at` never expires. */
export const documentRuleSchema = createRuleRequestSchema
  .extend({ expires_at: expiresAtSchema.exactOptional() })
  .meta({ id: 'DocumentRule' })

/**
 * One policy of a document. `rules` is complete: rules outside it are removed from the policy. A
 * policy without `mode` enforces.
 */
export const documentPolicySchema = z
  .strictObject({
    name: nameSchema,
    scope: scopeSchema.optional(),
    mode: policyModeSchema.exactOptional(),
    rules: z.array(documentRuleSchema).meta({
      description: 'All rules of the policy; their names are unique in it',
    }),
  })
  .meta({ id: 'DocumentPolicy', description: 'A policy, identified by its name' })

/** The content of a file. */
export const policyDocumentSchema = z
  .strictObject({
    $schema: z.string().optional().meta({ description: 'For editors; ignored' }),
    policies: z.array(documentPolicySchema),
  })
  .meta({
    id: 'PolicyDocument',
    title: 'Policies of an organization',
    examples: [{ policies: [EXAMPLE] }],
  })
export type PolicyDocument = z.infer<typeof policyDocumentSchema>

/** A file with the rules of one machine, named by `PALISADE_LOCAL_POLICIES` of its agent. */
export const localDocumentSchema = z.strictObject({
  $schema: z.string().optional(),
  local: z.array(
    documentPolicySchema.omit({ scope: true, mode: true }).extend({
      rules: z.array(createRuleRequestSchema),
    }),
  ),
})

/** The body of `POST /api/v1/orgs/{org}/apply`. */
export const applyRequestSchema = z
  .strictObject({
    policies: z.array(documentPolicySchema),
    prune: z.boolean().optional().meta({
      description: 'Delete policies that are not in the document; by default they are kept',
    }),
    dry_run: z.boolean().optional().meta({
      description: 'Report the changes without applying them; needs only `policies:read`',
    }),
  })
  .meta({ id: 'ApplyRequest', examples: [{ policies: [EXAMPLE], dry_run: true }] })
export type ApplyRequest = z.input<typeof applyRequestSchema>

/** A policy in an answer: the scope is always present, and its teams are given by name. */
export const shownPolicySchema = z
  .strictObject({
    name: z.string(),
    scope: z.strictObject({ teams: z.array(z.string()).optional() }),
    mode: policyModeSchema.exactOptional(),
    rules: z.array(documentRuleSchema.extend({ name: z.string(), resources: z.array(z.string()) })),
  })
  .meta({ id: 'ShownPolicy' })
export type ShownPolicy = z.infer<typeof shownPolicySchema>

/** `old` is absent for a created policy, `new` for a deleted one, and `id` before creation. */
export const policyChangeSchema = z
  .strictObject({
    change: z.enum(['created', 'updated', 'deleted']),
    name: z.string(),
    id: z.string().optional(),
    old: shownPolicySchema.optional(),
    new: shownPolicySchema.optional(),
  })
  .meta({ id: 'PolicyChange' })
export type PolicyChange = z.infer<typeof policyChangeSchema>

export const applyResponseSchema = z
  .strictObject({
    dry_run: z.boolean(),
    /**
     * Revision of the organization after the changes, or the revision that a dry run is based on.
     */
    revision: z.int().nonnegative(),
    /** Deleted, updated and created policies, each by name. */
    changes: z.array(policyChangeSchema),
    /** Number of policies that already equal the document. */
    unchanged: z.int().nonnegative(),
    /** Names of policies that are not in the document and stay. */
    unmanaged: z.array(z.string()),
  })
  .meta({ id: 'ApplyResponse' })
export type ApplyResponse = z.infer<typeof applyResponseSchema>

/** `GET /api/v1/orgs/{org}/export`: one snapshot. */
export const exportResponseSchema = z
  .strictObject({
    revision: z.int().nonnegative(),
    /** Policies by name. */
    policies: z.array(shownPolicySchema),
    /** The teams that policies name. */
    teams: z.array(z.strictObject({ id: z.string(), name: z.string() })),
    /** Every combination of teams of a member, in the notation of scopes. */
    team_sets: z.array(z.array(z.string())),
  })
  .meta({ id: 'ExportResponse' })
export type ExportResponse = z.infer<typeof exportResponseSchema>

/** The JSON Schema (2020-12) of a policy document, for editors. */
export function policyDocumentJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(policyDocumentSchema, { io: 'input' })
}
