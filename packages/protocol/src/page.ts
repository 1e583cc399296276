import { z } from 'zod'
import { pageSizeSchema } from './query-number.ts'

/** Selects a page of a list; `page_size` absent, 0 or more than 100 means 100. */
export const pageQuerySchema = z.strictObject({
  page_size: pageSizeSchema.optional(),
  page_token: z.string().min(1, 'must not be empty').optional().meta({
    description: 'The `next_page_token` of an earlier answer; absent means the first page',
  }),
})
export type PageQuery = z.infer<typeof pageQuerySchema>

/** One page of a list; `next_page_token` is null on the last page. */
export function pageSchema<Entry extends z.ZodType>(entry: Entry) {
  return z.strictObject({ data: z.array(entry), next_page_token: z.string().nullable() })
}
