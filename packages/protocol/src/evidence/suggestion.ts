import { ACTIONS } from '@palisade/policy-core'
import { z } from 'zod'
import { shownPolicySchema } from '../governance/policy-document.ts'
import { timestampSchema } from '../timestamp.ts'

export const SUGGESTION_SOURCES = ['denials', 'observed'] as const
export const SUGGESTION_GROUPS = ['team', 'user', 'program'] as const
export const SUGGESTION_SCOPES = ['team', 'organization'] as const

const INSTANT = 'must be an RFC 3339 instant such as `2026-11-21T08:00:00Z`'
const instantSchema = z.iso.datetime({ offset: true, error: INSTANT })
const leastSchema = z.int().min(1).max(1_000_000)

/** `POST /api/v1/orgs/{org}/suggestions` */
export const suggestionsRequestSchema = z
  .strictObject({
    from: z.enum(SUGGESTION_SOURCES).default('denials').meta({
      description:
        '`denials` of requests that no rule matches, or requests that were `observed` only',
    }),
    since: instantSchema.optional().meta({ description: '30 days before `until` by default' }),
    until: instantSchema.optional().meta({ description: 'Now by default' }),
    by: z
      .enum(SUGGESTION_GROUPS)
      .default('team')
      .meta({
        description:
          '`team`: a policy for each team; `program`: for each team and program; ' +
          '`user`: only for teams of one member',
      }),
    scope: z.enum(SUGGESTION_SCOPES).default('team').meta({
      description: '`organization` suggests policies for everybody, which it does only when asked',
    }),
    generalize: z.boolean().default(false).meta({
      description: 'Offer a wildcard for many names of one domain, or many files of one directory',
    }),
    min_devices: leastSchema.optional().meta({
      description: 'Devices that must have made a request: 2 by default, and 1 by `user`',
    }),
    min_members: leastSchema.default(3).meta({
      description: 'Members of a team that must have made a request, unless all have',
    }),
    min_count: leastSchema.default(1).meta({ description: 'Recorded decisions on a target' }),
    min_names: z.int().min(2).max(1_000_000).default(4).meta({
      description: 'Names, or files, that a wildcard must replace',
    }),
  })
  .meta({
    id: 'SuggestionsRequest',
    examples: [{ from: 'denials' }, { from: 'observed', by: 'program', generalize: true }],
  })
export type SuggestionsRequest = z.input<typeof suggestionsRequestSchema>
export type SuggestionOptions = z.output<typeof suggestionsRequestSchema>

const countSchema = z.int().nonnegative()

/** Devices first: a single machine can upload any number of records. */
const evidenceSchema = z
  .strictObject({
    devices: countSchema,
    users: countSchema.meta({ description: 'Members whose devices these are' }),
    decisions: countSchema,
    first_at: timestampSchema,
    last_at: timestampSchema,
    usernames: z.array(z.string()).meta({
      description: 'At most 10; empty without the permission `audit:read`, as the next two',
    }),
    device_ids: z.array(z.string()),
    programs: z
      .array(z.strictObject({ program: z.string().nullable(), decisions: countSchema }))
      .meta({ description: 'The most frequent ones, at most 10; null for an unknown one' }),
  })
  .meta({ id: 'SuggestionEvidence' })
export type SuggestionEvidence = z.infer<typeof evidenceSchema>

/**
 * Reasons to look twice. Machines are hostile: one of them may upload records to have its own
 * destination suggested.
 *
 * - `one_device`, `one_user`: all evidence comes from there.
 * - `ip_literal`: the program used an address, which can come to belong to somebody else.
 * - `confusable_name`: letters of another script imitate another name.
 * - `similar_name`: the domain differs in one or two letters from one that is in use.
 * - `unknown_domain`: not below a public suffix, such as an internal name.
 * - `shared_hosting`: a name that anybody can get from a provider, such as below `github.io`.
 * - `wildcard`: covers more than was seen.
 * - `sensitive_port`: a port of remote shells, mail or other protocols that carry data out.
 */
export const SUGGESTION_MARKS = [
  'one_device',
  'one_user',
  'ip_literal',
  'confusable_name',
  'similar_name',
  'unknown_domain',
  'shared_hosting',
  'wildcard',
  'sensitive_port',
] as const
export type SuggestionMark = (typeof SUGGESTION_MARKS)[number]

const teamsSchema = z
  .array(z.string())
  .meta({ description: 'Names or ids of teams; empty for the whole organization' })

const suggestionSchema = z
  .strictObject({
    policy: z.string().meta({ description: 'The policy of `document` that has the resource' }),
    rule: z.string(),
    action: z.enum(ACTIONS),
    resource: z.string(),
    teams: teamsSchema,
    members: countSchema.meta({ description: 'Members that the policy applies to' }),
    evidence: evidenceSchema,
    marks: z.array(z.enum(SUGGESTION_MARKS)),
    similar_to: z.string().nullable().meta({ description: 'The domain of `similar_name`' }),
    replaces: z.array(z.string()).meta({
      description:
        'Exact resources in place of the wildcard, at most 50; empty without one, and without ' +
        'the permission `audit:read`',
    }),
  })
  .meta({ id: 'Suggestion' })
export type Suggestion = z.infer<typeof suggestionSchema>

/** A region as policy-core's `compare` describes it. */
const openedSchema = z
  .strictObject({
    action: z.enum(ACTIONS),
    resource: z.string(),
    within: z.string().optional(),
    only: z.enum(['allowed', 'with_allowed_name', 'with_allowed_address']).optional(),
    except: z.strictObject({ allowed: z.array(z.string()), denied: z.array(z.string()) }),
  })
  .meta({ id: 'OpenedAccess' })
export type OpenedAccess = z.infer<typeof openedSchema>

/** - `unreadable`: the machine could not read the request.
 * - `path_cut`: the settings of the upload keep the whole path on the machine.
 * - `denied_by_rule`, `protected_address`: closed on purpose; no suggestion opens them.
 * - `not_evaluated`: the machine had no policy that it could evaluate.
 * - `already_allowed`: by the present policies.
 * - `public_suffix`: anybody can have a name below it, or a part of it.
 * - `sensitive_path`: the root, a home directory, system files, or a place of secrets.
 * - `not_expressible`: no rule can name exactly this target.
 * - `few_devices`, `few_decisions`: below the least that was asked for.
 * - `no_fitting_team`: too few members of each team made the request.
 * - `no_user`: made by devices without a user, to which only organization-wide policies apply.
 * - `not_a_member`: made by users who have left.
 * - `too_many`: beyond the number of rules that a policy may have.
 */
export const UNCOVERED_REASONS = [
  'unreadable',
  'path_cut',
  'denied_by_rule',
  'protected_address',
  'not_evaluated',
  'already_allowed',
  'public_suffix',
  'sensitive_path',
  'not_expressible',
  'few_devices',
  'few_decisions',
  'no_fitting_team',
  'no_user',
  'not_a_member',
  'too_many',
] as const
export type UncoveredReason = (typeof UNCOVERED_REASONS)[number]

const uncoveredSchema = z
  .strictObject({
    reason: z.enum(UNCOVERED_REASONS),
    /** A sentence for people. */
    detail: z.string(),
    action: z.string().nullable(),
    target: z.string().meta({ description: '`host:port`, or a path; empty if unreadable' }),
    evidence: evidenceSchema,
  })
  .meta({ id: 'UncoveredRequests' })
export type UncoveredRequests = z.infer<typeof uncoveredSchema>

export const suggestionsResponseSchema = z
  .strictObject({
    since: timestampSchema,
    until: timestampSchema,
    revision: countSchema.meta({ description: 'Of the policies that the suggestions add to' }),
    examined: z.strictObject({
      decisions: countSchema,
      devices: countSchema,
      targets: countSchema,
      left_out: countSchema.meta({
        description: 'Decisions beyond the limits of one call; ask for a shorter time',
      }),
    }),
    document: z.strictObject({ policies: z.array(shownPolicySchema) }).meta({
      description: 'New policies, as `POST …/apply` and `palisade apply` take them',
    }),
    suggestions: z.array(suggestionSchema),
    opens: z
      .array(
        z.strictObject({
          teams: teamsSchema,
          reachable: z.array(openedSchema),
          complete: z.boolean().meta({ description: 'Whether everything was compared' }),
        }),
      )
      .meta({
        description: 'Requests that the document opens for a member of one team and of no other',
      }),
    not_covered: z.array(uncoveredSchema).meta({
      description: 'At most 500, those of most devices first; the totals are complete',
    }),
    not_covered_totals: z.array(
      z.strictObject({
        reason: z.enum(UNCOVERED_REASONS),
        targets: countSchema,
        decisions: countSchema,
      }),
    ),
  })
  .meta({ id: 'Suggestions' })
export type SuggestionsResponse = z.infer<typeof suggestionsResponseSchema>
