import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { sendAnswer } from '../../http/answer.ts'
import { errorResponses } from '../../http/errors/error-responses.ts'
import { deferredValidator } from '../../http/input/validation.ts'
import type { Store } from '../../store/store.ts'
import { createAdmission, type Admission } from '../admission.ts'
import type { Authenticate } from '../authenticate.ts'
import { idempotencyKeySchema, onceOf } from '../idempotency/idempotent-post.ts'
import type { Once, Route, RouteCall } from './route.ts'

type Spec = Route['spec']

const NO_QUERY = z.strictObject({})
const PARAMETER = /:([a-z_]+)/g

/** Adds endpoints to the application, each with its checks and its part of the OpenAPI document. */
export function registerRoutes(
  app: FastifyInstance,
  deps: { readonly authenticate: Authenticate; readonly store: Pick<Store, 'read'> },
  routes: readonly Route[],
): void {
  const admission = createAdmission(deps)
  for (const route of routes) registerRoute(app, admission, route)
}

function registerRoute(app: FastifyInstance, admission: Admission, { spec, handler }: Route): void {
  const onRequest = checkCaller(admission, spec)
  const status = successOf(spec)
  app.route({
    method: spec.method,
    url: spec.path,
    schema: schemaOf(spec),
    ...(onRequest === undefined ? {} : { onRequest }),
    ...(spec.config === undefined ? {} : { config: spec.config }),
    ...(spec.bodyLimit === undefined ? {} : { bodyLimit: spec.bodyLimit }),
    ...(spec.deferred === true ? { validatorCompiler: deferredValidator } : {}),
    handler(request, reply) {
      const call: RouteCall<string, unknown, unknown, unknown, Once> = {
        get caller() {
          return admission.callerOf(request)
        },
        get principal() {
          return admission.principalOf(request)
        },
        params: request.params,
        query: request.query,
        body: request.body,
        get headers() {
          return request.headers
        },
        once: (options) =>
          onceOf(admission, request, { hasSecret: spec.once === 'secret', ...options }),
        request,
        reply,
        send: (answer) => sendAnswer(reply, answer),
      }
      // The status of a returned body. An answer sent with `send` has its own status.
      reply.code(status)
      return handler(call)
    },
  })
}

/** The hook that refuses callers before their body is read; undefined if anyone may call. */
function checkCaller(
  admission: Admission,
  spec: Spec,
): ((request: FastifyRequest) => Promise<void>) | undefined {
  switch (spec.callers) {
    case undefined:
      return admission.organization(spec.permission, spec.lookUp)
    case 'people':
      return admission.person(spec.lookUp)
    case 'signed_in':
      return admission.signedIn
    case 'machines':
      return spec.prove
    case 'anyone':
      return undefined
  }
}

function schemaOf(spec: Spec) {
  const names = [...spec.path.matchAll(PARAMETER)].map(([, name = '']) => name)
  const headers = headersOf(spec)
  const security = securityOf(spec)
  return {
    operationId: spec.operationId,
    tags: spec.tags,
    summary: spec.summary,
    ...(security === undefined ? {} : { security }),
    ...(names.length === 0 ? {} : { params: paramsSchema(names) }),
    ...(headers === undefined ? {} : { headers }),
    ...(spec.query === null ? {} : { querystring: spec.query ?? NO_QUERY }),
    ...(spec.body === undefined ? {} : { body: spec.body }),
    ...(spec.bodyType === undefined ? {} : { body: z.string(), consumes: [spec.bodyType] }),
    response: { ...spec.answers, ...errorResponses(refusalsOf(spec)) },
  }
}

function paramsSchema(names: readonly string[]): z.ZodObject {
  return z.object(
    Object.fromEntries(
      names.map((name) => [
        name,
        name === 'org' ? z.string().meta({ description: 'Name of the organization' }) : z.string(),
      ]),
    ),
  )
}

function headersOf({ headers, once }: Spec): z.ZodObject | undefined {
  if (once === undefined) return headers
  return headers === undefined ? idempotencyKeySchema : idempotencyKeySchema.extend(headers.shape)
}

/** Overrides the default of the OpenAPI document, which is an access token. */
function securityOf(spec: Spec): Record<string, string[]>[] | undefined {
  if (spec.callers === 'anyone') return []
  return spec.callers === 'machines' ? [{ [spec.credential]: [] }] : undefined
}

function refusalsOf(spec: Spec): number[] {
  return [
    400,
    ...refusalsOfCallers(spec),
    ...(spec.body === undefined ? [] : [413, 415]),
    ...(spec.once === undefined ? [] : [409]),
    ...(spec.errors ?? []),
  ]
}

function refusalsOfCallers(spec: Spec): number[] {
  switch (spec.callers) {
    case undefined:
      return spec.permission === null ? [401, 404] : [401, 403, 404]
    case 'people':
      return [401, 403]
    case 'signed_in':
      return [401]
    case 'machines':
      return [401, 403, 429]
    case 'anyone':
      return []
  }
}

function successOf({ answers }: Spec): number {
  return Math.min(...Object.keys(answers).map(Number))
}
