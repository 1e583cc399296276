import { z } from 'zod'

const WHOLE = 'must be a non-negative whole number'

/** `page_size` of a query; absent, 0 or more than 100 means 100. A number to readers of OpenAPI. */
export const pageSizeSchema = z
  .string()
  .regex(/^\d+$/, WHOLE)
  .meta({ type: 'integer', minimum: 0, default: 100 })

/** A number of a query, of at most 15 digits. */
export const queryNumberSchema = z
  .string()
  .regex(/^\d{1,15}$/, WHOLE)
  .meta({ type: 'integer', minimum: 0 })
