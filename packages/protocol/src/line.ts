import { z } from 'zod'

/**
 * One line that may be shown anywhere: nothing in it steers a terminal or passes for another line.
 */
export const lineSchema = z
  .string()
  .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u, 'must be one line of printable characters')
