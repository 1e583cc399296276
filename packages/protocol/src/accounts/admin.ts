import { z } from 'zod'
import { accessSettingsSchema, changedAccessSettingsSchema } from '../access/access-settings.ts'
import {
  changedEvidenceSettingsSchema,
  evidenceSettingsSchema,
} from '../evidence/evidence-settings.ts'
import { defaultDecisionSchema } from '../governance/rule-life.ts'
import { nameSchema, usernameSchema } from '../name.ts'
import {
  changedDistributionSettingsSchema,
  distributionSettingsSchema,
} from './distribution-settings.ts'
import { pageSchema } from '../page.ts'
import { supportMessageSchema } from './support-message.ts'
import { PERMISSIONS, ROLES } from './token.ts'
import { timestampSchema } from '../timestamp.ts'

const roleSchema = z.enum(ROLES)
const newPasswordSchema = z.string().min(12, 'must be at least 12 characters').max(1024)

/** `/api/v1/orgs/{org}` */
export const organizationSchema = z
  .strictObject({
    name: z.string(),
    /** Whether the organization may use governance. Only an operator of the server changes it. */
    entitled: z.boolean(),
    resolve_unlisted_names: z.boolean(),
    /** Absent until the organization chooses one. */
    default: defaultDecisionSchema.exactOptional(),
    /** Shown after each denial by the organization's policies; absent for no text. */
    support_message: supportMessageSchema.exactOptional(),
    distribution: distributionSettingsSchema,
    /** Which of their decision records its machines upload. */
    evidence: evidenceSettingsSchema,
    /** Limits on access requests. */
    access: accessSettingsSchema,
    /** Counts every change that a device or a reader of policies could notice. */
    revision: z.int().nonnegative(),
    created_at: timestampSchema,
  })
  .meta({ id: 'Organization' })
export type OrganizationBody = z.infer<typeof organizationSchema>
export const updateOrganizationRequestSchema = z
  .strictObject({
    resolve_unlisted_names: z.boolean().exactOptional(),
    default: defaultDecisionSchema
      .nullable()
      .exactOptional()
      .meta({ description: 'Null: the organization chooses no default, and its teams decide' }),
    support_message: supportMessageSchema
      .nullable()
      .exactOptional()
      .meta({ description: 'Shown after each denial by the policies; null for no text' }),
    distribution: changedDistributionSettingsSchema.exactOptional(),
    evidence: changedEvidenceSettingsSchema.exactOptional(),
    access: changedAccessSettingsSchema.exactOptional(),
  })
  .refine((changed) => Object.keys(changed).length > 0, 'must have a member to change')
  .meta({
    id: 'UpdateOrganizationRequest',
    minProperties: 1,
    examples: [{ resolve_unlisted_names: true }],
  })
export type UpdateOrganizationRequest = z.infer<typeof updateOrganizationRequestSchema>

/** `/api/v1/user/organizations` */
export const userOrganizationSchema = z
  .strictObject({
    name: z.string(),
    role: roleSchema,
    /** Permissions of the role, limited to those of the token behind the session. */
    permissions: z.array(z.enum(PERMISSIONS)),
    entitled: z.boolean(),
  })
  .meta({ id: 'UserOrganization' })
export type UserOrganization = z.infer<typeof userOrganizationSchema>
/** Organizations of a user, by name. */
export const listUserOrganizationsResponseSchema = pageSchema(userOrganizationSchema).meta({
  id: 'ListUserOrganizationsResponse',
})
export type ListUserOrganizationsResponse = z.infer<typeof listUserOrganizationsResponseSchema>

/** `/api/v1/user/password` */
export const changePasswordRequestSchema = z
  .strictObject({
    /** The current password. */
    password: z.string(),
    new_password: newPasswordSchema,
    /** Also revokes every personal token of the user, in case the password has leaked. */
    revoke_tokens: z.boolean().optional(),
  })
  .meta({
    id: 'ChangePasswordRequest',
    examples: [{ password: 'the old sentence', new_password: 'a long and unusual sentence' }],
  })
export type ChangePasswordRequest = z.infer<typeof changePasswordRequestSchema>
/** `/api/v1/orgs/{org}/members/{username}/password` */
export const resetPasswordRequestSchema = z
  .strictObject({ password: newPasswordSchema, revoke_tokens: z.boolean().optional() })
  .meta({
    id: 'ResetPasswordRequest',
    examples: [{ password: 'a long and unusual sentence', revoke_tokens: true }],
  })
export type ResetPasswordRequest = z.infer<typeof resetPasswordRequestSchema>
export const passwordChangedSchema = z
  .strictObject({ username: z.string(), revoked_tokens: z.int().nonnegative() })
  .meta({ id: 'PasswordChanged' })
export type PasswordChanged = z.infer<typeof passwordChangedSchema>

/** `/api/v1/orgs/{org}/members` */
export const createMemberRequestSchema = z
  .strictObject({
    username: usernameSchema,
    role: roleSchema,
    /** Required for a new user with password sign-in. */
    password: newPasswordSchema.optional(),
  })
  .meta({
    id: 'CreateMemberRequest',
    examples: [{ username: 'bob', role: 'editor', password: 'a long and unusual sentence' }],
  })
export type CreateMemberRequest = z.infer<typeof createMemberRequestSchema>
export const updateMemberRequestSchema = z
  .strictObject({ role: roleSchema })
  .meta({ id: 'UpdateMemberRequest', examples: [{ role: 'auditor' }] })
export const memberSchema = z
  .strictObject({ username: z.string(), role: roleSchema, teams: z.array(z.string()) })
  .meta({ id: 'Member' })
export type Member = z.infer<typeof memberSchema>
/**
 * `invited`: the user has an account that another organization created, and becomes a member only
 * by accepting the invitation.
 */
export const createdMemberSchema = memberSchema
  .extend({ status: z.enum(['active', 'invited']) })
  .meta({ id: 'CreatedMember' })
export type CreatedMember = z.infer<typeof createdMemberSchema>
/** Members by username. */
export const listMembersResponseSchema = pageSchema(memberSchema).meta({
  id: 'ListMembersResponse',
})
export type ListMembersResponse = z.infer<typeof listMembersResponseSchema>

/** `/api/v1/orgs/{org}/invitations`, and `/api/v1/user/invitations` */
export const invitationSchema = z
  .strictObject({
    org: z.string(),
    username: z.string(),
    role: roleSchema,
    /** For example `user:alice`. */
    invited_by: z.string(),
    created_at: timestampSchema,
  })
  .meta({ id: 'Invitation' })
export type Invitation = z.infer<typeof invitationSchema>
/** Invitations of an organization by username, or of a user by organization. */
export const listInvitationsResponseSchema = pageSchema(invitationSchema).meta({
  id: 'ListInvitationsResponse',
})
export type ListInvitationsResponse = z.infer<typeof listInvitationsResponseSchema>

/** A member with the number of organization tokens that the member created. */
export const updatedMemberSchema = memberSchema
  .extend({
    /** Number of live tokens that the member created. Their rights do not follow the role. */
    organization_tokens: z.int().nonnegative(),
  })
  .meta({ id: 'UpdatedMember' })
export type UpdatedMember = z.infer<typeof updatedMemberSchema>

/** Organization tokens of a demoted or removed member stay valid unless this revokes them. */
export const madeTokensQuerySchema = z.strictObject({
  organization_tokens: z
    .literal('revoke')
    .optional()
    .describe(
      'Revoke the organization tokens that the member created, and all tokens derived from them',
    ),
})
export type MadeTokensQuery = z.infer<typeof madeTokensQuerySchema>

/** `/api/v1/orgs/{org}/teams` */
export const createTeamRequestSchema = z
  .strictObject({ name: nameSchema })
  .meta({ id: 'CreateTeamRequest', examples: [{ name: 'backend' }] })
export const teamSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    /** Absent while the team has chosen no default. */
    default: defaultDecisionSchema.exactOptional(),
  })
  .meta({ id: 'Team' })
export const updateTeamRequestSchema = z
  .strictObject({
    default: defaultDecisionSchema
      .nullable()
      .meta({ description: 'Null: the team chooses no default, and the others decide' }),
  })
  .meta({ id: 'UpdateTeamRequest', examples: [{ default: 'observe' }] })
export type UpdateTeamRequest = z.infer<typeof updateTeamRequestSchema>
export type Team = z.infer<typeof teamSchema>
/** Teams by name. */
export const listTeamsResponseSchema = pageSchema(teamSchema).meta({ id: 'ListTeamsResponse' })
export type ListTeamsResponse = z.infer<typeof listTeamsResponseSchema>

/** A member who may answer access requests of the members of a team; see `…/approvers`. */
export const teamApproverSchema = z
  .strictObject({ username: z.string() })
  .meta({ id: 'TeamApprover' })
export type TeamApprover = z.infer<typeof teamApproverSchema>
/** Approvers by username. */
export const listTeamApproversResponseSchema = pageSchema(teamApproverSchema).meta({
  id: 'ListTeamApproversResponse',
})
export type ListTeamApproversResponse = z.infer<typeof listTeamApproversResponseSchema>

/**
 * Treatment of policies that name a deleted team. Absent means that they are kept.
 */
export const deleteTeamQuerySchema = z
  .strictObject({
    detach: z
      .literal('policies')
      .optional()
      .describe('Remove the team from policies that also have other teams'),
    sole: z
      .literal('delete')
      .optional()
      .describe('Delete policies without another team; only with `detach`'),
  })
  .refine((query) => query.sole === undefined || query.detach !== undefined, {
    path: ['sole'],
    error: 'goes with `detach=policies`',
  })
export type DeleteTeamQuery = z.infer<typeof deleteTeamQuerySchema>

/** `/api/v1/orgs/{org}/access-tokens` and `/api/v1/user/access-tokens` */
export const createAccessTokenRequestSchema = z
  .strictObject({
    name: nameSchema,
    permissions: z
      .array(z.enum(PERMISSIONS))
      .refine((list) => new Set(list).size === list.length, 'must not repeat a permission')
      .meta({ uniqueItems: true }),
    expires_in_days: z.int().min(1).max(3650),
  })
  .meta({
    id: 'CreateAccessTokenRequest',
    examples: [{ name: 'nightly job', permissions: ['policies:read'], expires_in_days: 90 }],
  })
export type CreateAccessTokenRequest = z.infer<typeof createAccessTokenRequestSchema>
export const accessTokenSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    permissions: z.array(z.enum(PERMISSIONS)),
    /** The first characters of the secret. */
    prefix: z.string(),
    created_at: timestampSchema,
    /** `user:NAME`, `organization:NAME:TOKEN` or `operator`. */
    created_by: z.string(),
    /**
     * Whether an organization token has permissions that its creator no longer has. Null without a
     * creating user, and for a personal token, which never exceeds its user.
     */
    exceeds_creator: z.boolean().nullable(),
    expires_at: timestampSchema,
    expired: z.boolean(),
    /** Precise to the minute and up to a minute late; null for an unused token. */
    last_used_at: timestampSchema.nullable(),
  })
  .meta({ id: 'AccessToken' })
export type AccessToken = z.infer<typeof accessTokenSchema>
/** `token` is the secret itself and is shown only once. */
export const createdAccessTokenSchema = accessTokenSchema
  .extend({ token: z.string() })
  .meta({ id: 'CreatedAccessToken' })
export type CreatedAccessToken = z.infer<typeof createdAccessTokenSchema>
/** Tokens that are not revoked, by creation. Expired tokens stay listed for 30 days. */
export const listAccessTokensResponseSchema = pageSchema(accessTokenSchema).meta({
  id: 'ListAccessTokensResponse',
})
export type ListAccessTokensResponse = z.infer<typeof listAccessTokensResponseSchema>
