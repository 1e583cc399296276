import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify from 'fastify'
import type { FastifyInstance, RouteHandlerMethod, RouteOptions } from 'fastify'
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
} from 'fastify-type-provider-zod'
import { describeHeaders } from './describe-headers.ts'
import { nameComponents, pruneComponents } from './prune-components.ts'

/**
 * Creates an application that describes `routes` and serves only `/openapi.json` for programs and
 * `/docs` for people. It does not listen; requests are injected.
 */
export async function createDocuments(routes: readonly RouteOptions[]): Promise<FastifyInstance> {
  const app = Fastify({ exposeHeadRoutes: false, schemaController: { compilersFactory } })
  // JSON Schema cannot represent the schema of an answer without a body.
  const zodToJsonConfig = { unrepresentable: 'any' } as const
  const addComponents = createJsonSchemaTransformObject({ zodToJsonConfig })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Palisade',
        description:
          'Governance policies of organizations, and their decisions on machines. ' +
          'A path answers other methods with 405 and `Allow`, and OPTIONS with 204 and `Allow`.',
        version: '1',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      // Relative to the server that serves the document.
      servers: [{ url: '/' }],
      tags: [
        { name: 'policies', description: 'Policies of an organization' },
        { name: 'rules', description: 'Rules of a policy' },
        { name: 'what-if', description: 'Decisions by the policies of one user' },
        { name: 'tokens', description: 'Credentials' },
        { name: 'organizations', description: 'Settings of organizations' },
        { name: 'members', description: 'Users of an organization' },
        { name: 'teams', description: 'Groups of members, for the scope of policies' },
        { name: 'devices', description: 'Machines and the files that they fetch' },
        { name: 'events', description: 'History of changes, with actor and time' },
        { name: 'access', description: 'Requests for access, and their grants' },
        { name: 'audit', description: 'Decisions on machines' },
        { name: 'rollouts', description: 'Changes that reach machines in stages' },
        { name: 'webhooks', description: 'Delivery of events to receivers' },
        { name: 'health', description: 'State of the server' },
      ],
      components: {
        securitySchemes: {
          access_token: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description:
              'From `POST /v2/auth/token`, or from the external OIDC issuer if one is configured.',
          },
          device_token: {
            type: 'http',
            scheme: 'dpop',
            bearerFormat: 'pal_dat_…',
            description:
              'From `POST /api/v1/device/token`, with a proof for each request ' +
              'in the header `DPoP` (RFC 9449), except for the timestamp of a view.',
          },
          device_proof: {
            type: 'apiKey',
            in: 'header',
            name: 'DPoP',
            description: 'A proof of the key of the machine (RFC 9449, Ed25519).',
          },
          ...(routes.some(asksForMetricsToken)
            ? { metrics_token: { type: 'http' as const, scheme: 'bearer' } }
            : {}),
        },
      },
      security: [{ access_token: [] }],
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig }),
    transformObject: (document) => {
      const known = openAnswers(pruneComponents(addComponents(document)))
      return describeQueries(describeHeaders(nameComponents(known)))
    },
  })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: true,
    // Over plain HTTP a browser would request scripts through TLS, which the port does not speak.
    transformStaticCSP: (policy) => policy.replace(/\s*upgrade-insecure-requests;?/, ''),
    theme: { title: 'Palisade API' },
  })
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
  for (const { method, url, schema } of routes)
    app.route({ method, url, ...(schema === undefined ? {} : { schema }), handler: describeOnly })
  await app.ready()
  return app
}

function asksForMetricsToken({ schema }: RouteOptions): boolean {
  return schema?.security?.some((scheme) => 'metrics_token' in scheme) === true
}

/** This application does not validate, and Fastify's own compilers are 120 files. */
const compilersFactory = {
  buildValidator: (() => () => () => true) as never,
  buildSerializer: () => () => (answer: unknown) => JSON.stringify(answer),
}

const describeOnly: RouteHandlerMethod = (_request, reply) => reply.callNotFound()

interface Operation {
  responses?: Record<string, unknown>
}

/**
 * Opens the objects in answers: a later server may add members, which a generated client must not
 * refuse. Requests stay closed. Must run before `nameComponents`, which removes the suffix that
 * marks request schemas.
 */
function openAnswers<D extends object>(document: D): D {
  const copy = structuredClone(document) as D & {
    paths?: Record<string, Record<string, Operation>>
    components?: { schemas?: Record<string, unknown> }
  }
  const operations = Object.values(copy.paths ?? {}).flatMap((item) => Object.values(item))
  for (const { responses } of operations) open(responses)
  for (const [name, schema] of Object.entries(copy.components?.schemas ?? {}))
    if (!name.endsWith('Input')) open(schema)
  return copy
}

function open(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return
  if ('additionalProperties' in schema && schema.additionalProperties === false)
    delete schema.additionalProperties
  for (const member of Object.values(schema)) open(member)
}

interface Parameter {
  readonly in: string
  readonly schema?: { type?: string; pattern?: string }
}

/**
 * Removes the patterns of integer query parameters: they describe the text of the query, not the
 * number that the document declares.
 */
function describeQueries<D extends object>(document: D): D {
  const copy = structuredClone(document) as D & {
    paths?: Record<string, Record<string, { parameters?: readonly Parameter[] }>>
  }
  const operations = Object.values(copy.paths ?? {}).flatMap((item) => Object.values(item))
  for (const { in: location, schema } of operations.flatMap(({ parameters = [] }) => parameters))
    if (location === 'query' && schema?.type === 'integer') delete schema.pattern
  return copy
}
