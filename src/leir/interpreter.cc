#include "leir/interpreter.h"

#include "leir/checker.h"
#include "leir/location.h"
#include "leir/machine.h"
#include "leir/slice.h"

namespace tw::leir {
namespace {

// A checked program with its statements compiled and its tensors allocated.
class Evaluation {
 public:
  static Result<std::unique_ptr<Evaluation>> Prepare(const Program& program, const Inputs& inputs) {
    auto evaluation = std::make_unique<Evaluation>();
    TW_TRY(evaluation->checked_, Check(program));
    for (const Tensor& tensor : evaluation->program().tensors) {
      TW_CHECK(evaluation->AddStorage(tensor, inputs));
    }
    for (std::size_t q = 0; q < evaluation->program().nests.size(); ++q) {
      Loops loops;
      evaluation->CompileNest(evaluation->program().nests[q], static_cast<int>(q), &loops);
    }
    std::size_t next = 0;
    for (const Nest& nest : evaluation->program().nests) {
      evaluation->plans_.push_back(evaluation->Plan(nest, 0, &next));
    }
    return evaluation;
  }

  Result<std::map<std::string, TensorValues>> Whole() {
    Machine machine;
    for (std::size_t q = 0; q < plans_.size(); ++q) {
      for (std::size_t i = 0; i < statements_.size(); ++i) {
        if (nest_of_[i] == static_cast<int>(q)) FillInitial(statements_[i]);
      }
      if (!machine.Run(plans_[q].get())) return GatherError(q);
    }
    std::map<std::string, TensorValues> results;
    for (const Tensor& tensor : program().tensors) {
      if (tensor.role != Role::kOutput) continue;
      TensorValues values = Empty(tensor);
      values.shape = tensor.shape;
      const Storage& storage = storages_.at(tensor.name);
      for (int64_t i = 0; i < storage.elements; ++i) Append(storage, i, &values);
      results[tensor.name] = std::move(values);
    }
    return results;
  }

  Result<std::vector<TensorValues>> Points(const std::vector<Request>& requests) {
    const int nests = static_cast<int>(plans_.size());
    Slice slice(&statements_, nest_of_, nests, &storages_);
    if (!slice.Allocate()) return NoMemory();
    for (const Request& request : requests) {
      const auto storage = storages_.find(request.tensor);
      if (storage == storages_.end() || !storage->second.computed) {
        return ErrorAt(program().source, {}, "{} is not an output or a temporary of the program",
                       request.tensor);
      }
      for (int64_t element : request.elements) {
        if (element < 0 || element >= storage->second.elements) {
          return ErrorAt(program().source, {}, "{} has {} elements, so there is no element {}",
                         request.tensor, storage->second.elements, element);
        }
        slice.Request(storage->second, element);
      }
    }
    for (int q = nests; q-- > 0;) slice.Trace(q);
    for (int q = 0; q < nests; ++q) {
      if (!slice.Run(q, plans_[q].get())) return GatherError(q);
    }
    std::vector<TensorValues> results;
    for (const Request& request : requests) {
      const Storage& storage = storages_.at(request.tensor);
      TensorValues values = Empty(*storage.tensor);
      values.shape = {static_cast<int64_t>(request.elements.size())};
      for (int64_t element : request.elements) Append(storage, element, &values);
      results.push_back(std::move(values));
    }
    return results;
  }

 private:
  const Program& program() const { return checked_.program; }

  Error NoMemory() const {
    return ErrorAt(program().source, {},
                   "there is not enough memory to hold the tensors; give "
                   "smaller dims");
  }

  Error GatherError(std::size_t nest) const {
    return ErrorAt(program().source, program().nests[nest].location,
                   "an index read from a tensor is outside the tensor that it indexes; check the "
                   "values of the index input");
  }

  Status AddStorage(const Tensor& tensor, const Inputs& inputs) {
    Storage storage;
    storage.tensor = &tensor;
    storage.is_real = IsFloat(tensor.dtype);
    storage.computed = tensor.role == Role::kOutput || tensor.role == Role::kTemporary;
    storage.strides.resize(tensor.shape.size());
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
      storage.strides[i] = storage.elements;
      storage.elements *= tensor.shape[i];
    }
    if (storage.computed) {
      storage.cells.reset(static_cast<Cell*>(
          std::calloc(static_cast<std::size_t>(storage.elements), sizeof(Cell))));
      if (storage.cells == nullptr) return NoMemory();
    } else {
      const auto input = inputs.find(tensor.name);
      if (input == inputs.end() || input->second.data == nullptr) {
        return ErrorAt(program().source, tensor.location, "no data for the input {}", tensor.name);
      }
      if (input->second.dtype != tensor.dtype || input->second.shape != tensor.shape) {
        return ErrorAt(program().source, tensor.location,
                       "the data for {} has another type or shape than declared", tensor.name);
      }
      storage.input = static_cast<const char*>(input->second.data);
    }
    storages_.emplace(tensor.name, std::move(storage));
    return Ok();
  }

  void CompileNest(const Nest& nest, int number, Loops* loops) {
    for (const Loop& loop : nest.loops) loops->push_back(&loop);
    for (const Item& item : nest.body) {
      if (const auto* statement = std::get_if<Statement>(&item)) {
        const StatementInfo& info = checked_.statements[statements_.size()];
        statements_.push_back(Compile(*statement, *loops, info, &storages_));
        nest_of_.push_back(number);
      } else {
        CompileNest(*std::get<1>(item), number, loops);
      }
    }
    loops->resize(loops->size() - nest.loops.size());
  }

  std::unique_ptr<PlannedNest> Plan(const Nest& nest, int first_slot, std::size_t* next) {
    auto plan = std::make_unique<PlannedNest>();
    plan->first_slot = first_slot;
    for (const Loop& loop : nest.loops) plan->ranges.push_back({&loop, loop.extent, std::nullopt});
    const int inner = first_slot + static_cast<int>(nest.loops.size());
    for (const Item& item : nest.body) {
      if (std::holds_alternative<Statement>(item)) {
        plan->items.emplace_back(PlannedStatement{&statements_[(*next)++], nullptr, 0});
      } else {
        plan->items.emplace_back(Plan(*std::get<1>(item), inner, next));
      }
    }
    return plan;
  }

  static void FillInitial(const CompiledStatement& statement) {
    const StatementInfo& info = statement.info;
    if (!info.initial || info.prefix_shift > 0) return;
    const Cell first = InitialCell(*info.initial, *statement.target);
    std::fill_n(statement.target->cells.get(), statement.target->elements, first);
  }

  static TensorValues Empty(const Tensor& tensor) {
    TensorValues values;
    values.dtype = tensor.dtype;
    return values;
  }

  static void Append(const Storage& storage, int64_t element, TensorValues* values) {
    const Cell& cell = storage.cells[element];
    if (storage.is_real) {
      values->real.push_back(cell.real);
    } else {
      values->integer.push_back(cell.integer);
    }
  }

  CheckedProgram checked_;
  Storages storages_;
  std::vector<CompiledStatement> statements_;
  std::vector<int> nest_of_;  // top-level nest of each statement
  std::vector<std::unique_ptr<PlannedNest>> plans_;
};

}  // namespace

Result<std::map<std::string, TensorValues>> Evaluate(const Program& program, const Inputs& inputs) {
  TW_TRY(const auto evaluation, Evaluation::Prepare(program, inputs));
  return evaluation->Whole();
}

Result<std::vector<TensorValues>> EvaluatePoints(const Program& program, const Inputs& inputs,
                                                 const std::vector<Request>& requests) {
  TW_TRY(const auto evaluation, Evaluation::Prepare(program, inputs));
  return evaluation->Points(requests);
}

}  // namespace tw::leir
