import type { FastifySchemaCompiler } from 'fastify'
import type { z } from 'zod'
import { ApiError, notFound } from '../../platform/api-error.ts'
import { readBody, readInput } from '../body/read-body.ts'
import { readQuery, type RawQuery } from './read-query.ts'
import type { RawBody } from '../body/raw-body.ts'

/**
 * Validates each part of a request before the handler runs. For routes that authenticate in an
 * `onRequest` hook and have no look-ups before the body.
 */
export const strictValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  return (value: unknown) => {
    try {
      return { value: validate(schema, httpPart, value) }
    } catch (error) {
      if (error instanceof ApiError) return { error }
      throw error
    }
  }
}

/**
 * Passes each part of a request on unchecked. For routes with look-ups before the body; their
 * handlers call `readBody` and `readQuery`.
 */
export const deferredValidator: FastifySchemaCompiler<unknown> = () => (value: unknown) => ({
  value,
})

function validate(schema: z.ZodType, httpPart: string | undefined, value: unknown): unknown {
  switch (httpPart) {
    case 'body':
      return readBody(schema, value as RawBody)
    case 'querystring':
      return readQuery(schema, value as RawQuery)
    case 'params': {
      // A malformed name cannot exist, so it is 404 rather than 400.
      const result = schema.safeParse(value)
      if (!result.success) throw notFound('no such path')
      return result.data
    }
    default:
      return readInput(schema, value)
  }
}
