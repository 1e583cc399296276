import {
  changePasswordRequestSchema,
  passwordChangedSchema,
  resetPasswordRequestSchema,
} from '@palisade/protocol'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import { findMember } from './member-service.ts'
import type { PasswordService } from './password-service.ts'

/** `/api/v1/user/password` and `/api/v1/orgs/:org/members/:username/password` */
export function passwordRoutes(passwords: PasswordService): Route[] {
  return [
    defineRoute(
      {
        method: 'PUT',
        path: '/api/v1/user/password',
        operationId: 'changePassword',
        tags: ['tokens'],
        summary: 'Change your password and end the sessions of the old one',
        callers: 'people',
        body: changePasswordRequestSchema,
        answers: { 200: passwordChangedSchema },
        errors: [409, 429],
      },
      async ({ caller, body }) => passwords.change(caller, body),
    ),
    defineRoute(
      {
        method: 'PUT',
        path: '/api/v1/orgs/:org/members/:username/password',
        operationId: 'resetPassword',
        tags: ['members'],
        summary: 'Reset the password of a member who belongs to no other organization',
        permission: 'organization:admin',
        lookUp: (reader, { org, username }) => findMember(reader, org, username),
        body: resetPasswordRequestSchema,
        answers: { 200: passwordChangedSchema },
        errors: [429],
      },
      async ({ caller, params: { org, username }, body }) =>
        passwords.reset(caller, org, username, body),
    ),
  ]
}
