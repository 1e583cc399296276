import type { PageQuery } from '@palisade/protocol'
import { formatPageToken, readPageSize, readPageToken, type PageList } from './page-token.ts'

/** The first `limit` rows after a position, in the order of the list. */
export interface RowPage {
  /** Exclusive; empty for the first page. */
  readonly after: string
  readonly limit: number
}

export interface PageSource<Row> {
  read(page: RowPage): Promise<readonly Row[]>
  /** The position of a row in the list: unique, and constant while the row exists. */
  positionOf(row: Row): string
}

export interface Page<Row> {
  readonly rows: readonly Row[]
  /** Null on the last page. */
  readonly next_page_token: string | null
}

/**
 * Reads one page of a list. The next page starts at a position, not at a count, so that rows added
 * or removed meanwhile do not shift others. Throws 400 for a token of another list.
 */
export async function readPage<Row>(
  { pageTokenKey }: { readonly pageTokenKey: Uint8Array },
  list: Omit<PageList, 'parameter'>,
  { page_size, page_token }: PageQuery,
  { read, positionOf }: PageSource<Row>,
): Promise<Page<Row>> {
  const from: PageList = { ...list, parameter: 'page_token' }
  const limit = readPageSize(page_size)
  const after = page_token === undefined ? '' : readPageToken(pageTokenKey, from, page_token)
  // One extra row tells whether there is a next page.
  const found = await read({ after, limit: limit + 1 })
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return {
    rows,
    next_page_token:
      last !== undefined && found.length > limit
        ? formatPageToken(pageTokenKey, from, positionOf(last))
        : null,
  }
}
