import type { Permission } from '@palisade/protocol'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Answer } from '../../http/answer.ts'
import type { RawBody } from '../../http/body/raw-body.ts'
import type { RawQuery } from '../../http/input/read-query.ts'
import type { StoreReader } from '../../store/store.ts'
import type { Access } from '../authorize.ts'
import type { OnceRequest } from '../idempotency/answer-once.ts'
import type { Caller, Principal, UserPrincipal } from '../principal.ts'

/** The parameters of a path: `/orgs/:org/teams/:team` has `{ org: string; team: string }`. */
export type PathParams<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [Key in Name]: string } & PathParams<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? { readonly [Key in Name]: string }
    : unknown

/** The admitted callers. The check runs before the body is read. */
export type Callers<Params> =
  | {
      /**
       * In the organization of the path parameter `org`; null admits every member. 401, 404, 403.
       */
      readonly permission: Permission | null
      /** Throws a refusal that precedes validation of the body, such as 404 for a resource. */
      readonly lookUp?: (
        reader: StoreReader,
        params: Params,
        who: { readonly principal: Principal; readonly access: Access },
      ) => unknown
      readonly callers?: undefined
    }
  | {
      /** 401, or 403 for an organization token. */
      readonly callers: 'people'
      readonly lookUp?: (reader: StoreReader, params: Params, user: UserPrincipal) => unknown
    }
  /** 401; the handler authorizes within its transaction. */
  | { readonly callers: 'signed_in' }
  | {
      readonly callers: 'machines'
      /** Throws 401 unless the request proves its machine. Absent if the handler checks that. */
      readonly prove?: (request: FastifyRequest) => Promise<void>
      readonly credential: 'device_token' | 'device_proof'
    }
  | { readonly callers: 'anyone' }

/**
 * The answer to a repeated `Idempotency-Key`: the kept answer, or 409 if request or answer hold a
 * secret, which is not kept.
 */
export type Once = 'kept' | 'secret'

/** Schemas of the answers by status. A returned body is sent with the lowest status. */
type Answers = Readonly<Record<number, z.ZodType | { readonly description: string }>>

/** The declaration of an endpoint: its checks and its part of the OpenAPI document. */
export type RouteSpec<
  Path extends string,
  Sent extends Answers,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Headers extends z.ZodObject,
  Repeated,
  Deferred extends boolean,
> = Callers<PathParams<Path>> & {
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT'
  readonly path: Path
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  /** Absent: no parameter is allowed. Null: parameters are ignored. */
  readonly query?: Query | null
  readonly body?: Body
  /** Media type of a body that is not JSON, for the document; the handler reads it itself. */
  readonly bodyType?: string
  readonly headers?: Headers
  readonly answers: Sent
  /** Statuses of refusals, beyond those implied by callers, body and `once`. */
  readonly errors?: readonly number[]
  /** For a POST with an `Idempotency-Key`. */
  readonly once?: Repeated
  /** The handler validates query and body itself, because it must look up resources first. */
  readonly deferred?: Deferred
  /** Maximum bytes of a body. */
  readonly bodyLimit?: number
  readonly config?: FastifyContextConfig
}

/**
 * Reads the key of the request. `hasSecret` overrides the declared `once`. `of` is an identity that
 * narrows the scope of the key, in addition to caller and path.
 */
export type OnceGuard = (options?: {
  readonly hasSecret?: boolean
  readonly of?: string
}) => OnceRequest

/** One admitted request. */
export interface RouteCall<Path extends string, Query, Body, Headers, Repeated> {
  /** Throws for the callers `machines` and `anyone`. */
  readonly caller: Caller
  /** The caller without the request: the same object until the caller's account changes. */
  readonly principal: Principal
  readonly params: PathParams<Path>
  readonly query: Query
  readonly body: Body
  readonly headers: Headers
  /** Returns the guard against a repeated effect. Throws 400 for a malformed key. */
  readonly once: Repeated extends undefined ? never : OnceGuard
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Sends an answer with its own status and headers. The handler returns the result. */
  send(answer: Answer): FastifyReply
}

/** An endpoint for `registerRoutes`; made by `defineRoute`. */
export interface Route {
  readonly spec: RouteSpec<
    string,
    Answers,
    z.ZodType,
    z.ZodType,
    z.ZodObject,
    Once | undefined,
    boolean
  >
  readonly handler: (call: RouteCall<string, unknown, unknown, unknown, Once>) => Promise<unknown>
}

/** The result of a handler: the body of a success, or a sent reply. */
type Result<Sent extends Answers> =
  | FastifyReply
  | (Sent extends { readonly 200: infer Schema extends z.ZodType }
      ? z.input<Schema>
      : Sent extends { readonly 201: infer Schema extends z.ZodType }
        ? z.input<Schema>
        : Sent extends { readonly 204: z.ZodType }
          ? void
          : never)

/** Binds a handler to its declaration. */
export function defineRoute<
  const Path extends string,
  const Sent extends Answers,
  Query extends z.ZodType = z.ZodObject,
  Body extends z.ZodType = z.ZodUndefined,
  Headers extends z.ZodObject = z.ZodObject,
  const Repeated extends Once | undefined = undefined,
  const Deferred extends boolean = false,
>(
  spec: RouteSpec<Path, Sent, Query, Body, Headers, Repeated, Deferred>,
  handler: (
    call: RouteCall<
      Path,
      Deferred extends true ? RawQuery : z.output<Query>,
      Deferred extends true ? RawBody : z.output<Body>,
      FastifyRequest['headers'] & z.output<Headers>,
      Repeated
    >,
  ) => Promise<Result<Sent>>,
): Route {
  // `registerRoutes` passes only values that were validated by the schemas of `spec`.
  return { spec, handler } as unknown as Route
}
