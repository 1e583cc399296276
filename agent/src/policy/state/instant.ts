import { z } from 'zod'

/**
 * Milliseconds since 1970, up to the last date of ECMAScript; a later time could not be formatted.
 */
export const instantMs = z.number().min(0).max(8.64e15)
