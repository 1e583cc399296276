import { join } from 'node:path'
import { temporaryDirectory } from '../../temporary-directory.ts'

export const AT = '2026-11-21T08:00:00.000Z'
export const silent = (): void => undefined

export const newPath = () => join(temporaryDirectory(), 'server.db')
