/** For tests of backends: the contract that each must keep, and a model of it to compare random runs with. */
export {
  type BackendContract,
  type ContractHarness,
  type ContractRunner,
  describeBackendContract,
} from './backend-contract/backend-contract.ts'
export { ReferenceModel } from './reference-model.ts'
