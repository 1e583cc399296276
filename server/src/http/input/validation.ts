import type { FastifySchemaCompiler } from 'fastify'
import type { z } from 'zod'
import { ApiError, notFound } from '../../platform/api-error.ts'
import { readBody, readInput } from '../body/read-body.ts'
import { readQuery, type RawQuery } from './read-query.ts'
import type { RawBody } from '../body/raw-body.ts'

/**
 * Judges each part of a request against its schema before the handler runs: for routes whose
 * caller is known in an `onRequest` hook, and that have nothing to look up before the body.
 */
export const strictValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  return (value: unknown) => {
    try {
      return { value: judge(schema, httpPart, value) }
    } catch (error) {
      if (error instanceof ApiError) return { error }
      throw error
    }
  }
}

/**
 * Judges nothing: for routes that must look things up first. Their handlers call `readBody` and
 * `readQuery` on what arrived.
 */
export const deferredValidator: FastifySchemaCompiler<unknown> = () => (value: unknown) => ({
  value,
})

function judge(schema: z.ZodType, httpPart: string | undefined, value: unknown): unknown {
  switch (httpPart) {
    case 'body':
      return readBody(schema, value as RawBody)
    case 'querystring':
      return readQuery(schema, value as RawQuery)
    case 'params': {
      // What cannot be the name of anything is the name of nothing.
      const result = schema.safeParse(value)
      if (!result.success) throw notFound('no such path')
      return result.data
    }
    default:
      return readInput(schema, value)
  }
}
