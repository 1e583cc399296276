import { z } from 'zod'

/** RFC 3339 in UTC, as the server writes it. */
export const timestampSchema = z.string().meta({ format: 'date-time' })
