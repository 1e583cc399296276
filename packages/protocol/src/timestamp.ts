import { z } from 'zod'

/** RFC 3339 UTC in whole seconds, the form of times that are signed. */
export const wholeSecondSchema = z.iso.datetime({ precision: 0 })

/** RFC 3339 in UTC, as the server writes it. */
export const timestampSchema = z.string().meta({ format: 'date-time' })
