import { z } from 'zod'
import { nameSchema } from '../name.ts'
import { createRuleRequestSchema } from './rule.ts'

/**
 * Policies as administrators keep them in files: everything by name, no ids and no timestamps.
 * `POST /api/v1/orgs/{org}/apply` makes an organization have them, `GET …/export` shows what it
 * has, and `palisade plan`, `apply` and `export` read and write files of this form.
 */
const teamsSchema = z.array(nameSchema).meta({
  description: 'Names or UUIDs of the teams whose members the policy applies to',
})

const scopeSchema = z.strictObject({ teams: teamsSchema.optional() }).meta({
  description:
    'Whom the policy applies to: `{}` for the whole organization. A policy that applies to teams becomes organization-wide only where this is written.',
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

/** One policy of a document. `rules` is complete: what is not in it is removed from the policy. */
export const documentPolicySchema = z
  .strictObject({
    name: nameSchema,
    scope: scopeSchema.optional(),
    rules: z.array(createRuleRequestSchema).meta({
      description: 'All rules of the policy; their names are unique in it',
    }),
  })
  .meta({ id: 'DocumentPolicy', description: 'A policy, known by its name' })

/** What a file holds. */
export const policyDocumentSchema = z
  .strictObject({
    $schema: z.string().optional().meta({ description: 'For editors; means nothing here' }),
    policies: z.array(documentPolicySchema),
  })
  .meta({
    id: 'PolicyDocument',
    title: 'Policies of an organization',
    examples: [{ policies: [EXAMPLE] }],
  })
export type PolicyDocument = z.infer<typeof policyDocumentSchema>

/** A file of rules of one machine: `PALISADE_LOCAL_POLICIES` of its agent names it. */
export const localDocumentSchema = z.strictObject({
  $schema: z.string().optional(),
  local: z.array(documentPolicySchema.omit({ scope: true })),
})

/** The body of `POST /api/v1/orgs/{org}/apply`. */
export const applyRequestSchema = z
  .strictObject({
    policies: z.array(documentPolicySchema),
    prune: z.boolean().optional().meta({
      description: 'Delete the policies that are not in the document; by default they stay',
    }),
    dry_run: z.boolean().optional().meta({
      description: 'Tell what would change and change nothing; needs only `policies:read`',
    }),
  })
  .meta({ id: 'ApplyRequest', examples: [{ policies: [EXAMPLE], dry_run: true }] })
export type ApplyRequest = z.input<typeof applyRequestSchema>

/** A policy as an answer shows it: its scope always present, its teams by name. */
const shownPolicySchema = z
  .strictObject({
    name: z.string(),
    scope: z.strictObject({ teams: z.array(z.string()).optional() }),
    rules: z.array(
      createRuleRequestSchema.extend({ name: z.string(), resources: z.array(z.string()) }),
    ),
  })
  .meta({ id: 'ShownPolicy' })
export type ShownPolicy = z.infer<typeof shownPolicySchema>

/** `old` is absent for a created policy and `new` for a deleted one; `id` while it has none. */
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
    /** The organization's, after the changes; of a dry run the one that the plan was made for. */
    revision: z.int().nonnegative(),
    /** Deleted, updated and created policies, each by name. */
    changes: z.array(policyChangeSchema),
    /** How many policies of the document were as it says already. */
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
    /** By name. */
    policies: z.array(shownPolicySchema),
    /** The teams that policies name. */
    teams: z.array(z.strictObject({ id: z.string(), name: z.string() })),
    /** Every set of teams that some member is in, as they are shown in scopes. */
    team_sets: z.array(z.array(z.string())),
  })
  .meta({ id: 'ExportResponse' })
export type ExportResponse = z.infer<typeof exportResponseSchema>

/** The JSON Schema (2020-12) of a policy document, for editors. */
export function policyDocumentJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(policyDocumentSchema, { io: 'input' })
}
