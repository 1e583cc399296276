import { z } from 'zod'

/**
 * Milliseconds since 1970, up to the end of the calendar of ECMAScript: a later time could not be
 * told.
 */
export const instantMs = z.number().min(0).max(8.64e15)
