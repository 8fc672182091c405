/** Creates an account and prints a token for it: `account.ts <user> <credits> [user|internal|admin]`. */
import { readEnvironment } from '../environment.ts'
import { Identity, isRole } from '../identity.ts'
import { openServices } from '../services/services.ts'

const [userId, credits = '', role = 'user'] = process.argv.slice(2)
if (userId === undefined || !/^\d+$/.test(credits) || !isRole(role)) {
  console.error('Usage: account.ts <user> <credits> [user|internal|admin]')
  process.exit(1)
}
const environment = readEnvironment()
const services = openServices(environment)
services.users.save({ id: userId, email: `${userId}@example.com` }, Number(credits))
await services.close()
console.log(await new Identity(environment.jwtSecret).issue({ userId, role }))
