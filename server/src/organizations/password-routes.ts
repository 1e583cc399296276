import {
  changePasswordRequestSchema,
  passwordChangedSchema,
  resetPasswordRequestSchema,
} from '@palisade/protocol'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { errorResponses } from '../http/errors/error-responses.ts'
import type { Admission } from '../identity/admission.ts'
import { findMember } from './member-service.ts'
import type { PasswordService } from './password-service.ts'

const noQuery = z.strictObject({})

/** `/api/v1/user/password` and `/api/v1/orgs/:org/members/:username/password` */
export function passwordRoutes(deps: {
  readonly admission: Admission
  readonly passwords: PasswordService
}): FastifyPluginAsyncZod {
  const { admission, passwords } = deps
  return async (app) => {
    app.put(
      '/api/v1/user/password',
      {
        onRequest: admission.person(),
        schema: {
          operationId: 'changePassword',
          tags: ['tokens'],
          summary: 'Change your password, which ends every session that the old one opened',
          querystring: noQuery,
          body: changePasswordRequestSchema,
          response: {
            200: passwordChangedSchema,
            ...errorResponses([400, 401, 403, 409, 413, 415, 429]),
          },
        },
      },
      async (request) => passwords.change(admission.callerOf(request), request.body),
    )

    app.put(
      '/api/v1/orgs/:org/members/:username/password',
      {
        onRequest: admission.organization('organization:admin', async (reader, params) => {
          await findMember(reader, params['org'] ?? '', params['username'] ?? '')
        }),
        schema: {
          operationId: 'resetPassword',
          tags: ['members'],
          summary: 'Reset the password of a member who belongs to no other organization',
          params: z.object({ org: z.string(), username: z.string() }),
          querystring: noQuery,
          body: resetPasswordRequestSchema,
          response: {
            200: passwordChangedSchema,
            ...errorResponses([400, 401, 403, 404, 413, 415, 429]),
          },
        },
      },
      async (request) => {
        const { org, username } = request.params
        return passwords.reset(admission.callerOf(request), org, username, request.body)
      },
    )
  }
}
